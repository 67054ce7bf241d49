"""`decide` and its rules: what follows from what a stage saw."""
