"""The commands of people on a run: submit, extend, cancel, answer, undo, merge."""
