"""Numbers out of results, for claims and figures."""
