"""Pages of the reference that are made from the code: `python -m tests.reference` writes them."""
