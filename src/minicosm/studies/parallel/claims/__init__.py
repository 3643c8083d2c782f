"""Claims of the study, by subject."""
