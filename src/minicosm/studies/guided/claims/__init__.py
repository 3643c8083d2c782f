"""The claims, in the order of the source."""
