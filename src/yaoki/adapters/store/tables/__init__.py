"""The tables of the store: what is read and written, each in one transaction."""
