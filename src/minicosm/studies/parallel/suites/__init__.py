"""Trials that run exact statements on many worlds."""
