"""One module for each command of `yaoki`."""
