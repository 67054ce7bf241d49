"""Git as values and functions; only this package and `adapters/workspace` run git."""
