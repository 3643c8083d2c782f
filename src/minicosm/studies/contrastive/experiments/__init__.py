"""Fits, samplings and trainings."""
