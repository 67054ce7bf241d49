"""Worktrees: how a task gets one, and how everything in it is saved before it goes."""
