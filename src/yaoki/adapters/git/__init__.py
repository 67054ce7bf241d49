"""Git as values and functions: the only package that starts git."""
