"""Claims, grouped as in the source."""
