"""Reports and receipts."""
