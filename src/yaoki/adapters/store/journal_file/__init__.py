"""The journal file: a copy of every committed journal entry, next to the database."""
