"""Statements executed on many worlds and models."""
