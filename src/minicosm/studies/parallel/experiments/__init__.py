"""Trainings and samplings: fits, simulated chains, translators of a fertility world and of real text."""
