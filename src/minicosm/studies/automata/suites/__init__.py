"""Trials that run exact statements on many automata."""
