"""Trainings, and measures of what was trained."""
