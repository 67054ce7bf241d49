"""The journal file: a copy of every committed journal entry, beside the database."""
