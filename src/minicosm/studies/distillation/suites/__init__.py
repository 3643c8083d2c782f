"""Exact statements and their numbers, run on many networks."""
