"""The machine: files, folders, clock, port ranges, and the identity of this process."""
