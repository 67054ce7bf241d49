"""The live view of a run in a terminal."""
