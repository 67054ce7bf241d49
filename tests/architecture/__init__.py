"""The structure of the project: layers, contracts, documents, and tested rules."""
