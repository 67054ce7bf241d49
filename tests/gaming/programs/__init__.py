"""One module for each program: its files, and the changes to it."""
