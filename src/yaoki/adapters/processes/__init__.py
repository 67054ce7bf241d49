"""Processes: agents under their shim, short commands, helpers, and the sandbox around them."""
