"""Statements and what decides them, grouped as in the source."""
