"""Exact statements run on many worlds."""
