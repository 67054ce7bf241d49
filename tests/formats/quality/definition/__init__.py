"""The definition of a check: tables of changes that weaken it, and of their honest twins."""
