"""Exact statements, run on many strings and heads."""
