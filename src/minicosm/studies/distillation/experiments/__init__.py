"""Teachers and students, trained side by side."""
