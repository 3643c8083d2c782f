"""Trials that execute the paper's statements on many random worlds."""
