"""The store in one SQLite file, with its backups, examination and repair."""
