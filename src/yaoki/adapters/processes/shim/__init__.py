"""The shim owns the process tree of one agent: the agent outlives its worker, and no process of the
tree outlives the agent.

The shim is a bare script, `python -I -S shim/__main__.py FOLDER`, started in its own session.
Without a folder it is the fork server of a worker, which forks shims without loading them again.
docs/decisions/shim.md describes the files of the folder.  On other systems than Linux the tree is
read from `ps`, which is not tested.
"""

# The start of the shim is the start of every attempt: pathlib, dataclasses and subprocess would
# double it.  All modules are loaded before the agent starts: hours later another version
# may be installed.
