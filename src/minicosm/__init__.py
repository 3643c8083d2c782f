"""Small worlds in which everything about language is known exactly."""

__version__ = "0.1.0"
