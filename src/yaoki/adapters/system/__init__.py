"""The machine: files, folders, the clock, ports, and who this process is."""
