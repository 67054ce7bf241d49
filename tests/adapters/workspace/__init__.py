"""Worktrees and branches on real repositories."""
