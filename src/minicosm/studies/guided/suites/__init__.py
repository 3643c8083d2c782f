"""Statements executed on small worlds."""
