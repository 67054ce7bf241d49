"""Branches that yaoki moves: the run branch, group branches, the merge queue, the base branch."""
