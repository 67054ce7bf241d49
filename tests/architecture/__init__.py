"""The shape of the project: floors, contracts, documents, and which rules are proven."""
