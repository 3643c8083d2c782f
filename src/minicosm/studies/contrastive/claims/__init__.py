"""Statements, criteria and checks, grouped as in the source."""
