"""The claims of the study; importing them registers them and loads nothing heavy."""
