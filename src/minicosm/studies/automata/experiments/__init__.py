"""Trainings."""
