"""The tell-tales of a cheat, one module for each way to satisfy a check instead of the task."""
