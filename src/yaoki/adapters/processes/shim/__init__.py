"""Owns one agent's process tree: the agent outlives its worker, and nothing outlives the agent.

The shim is a bare script, `python -I -S shim/__main__.py FOLDER`, started in its own session.
Without a folder it is the fork server of a worker: shims are forked from it without being read
again.
docs/decisions/shim.md tells the files of the folder.  Beside Linux it reads the tree from `ps`;
that is not tested.
"""

# The start of the shim is the start of every attempt: pathlib, dataclasses and subprocess would
# double it.  All files are read before the agent starts: hours later another version may lie here.
