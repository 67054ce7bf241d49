"""What people may ask of a run: submit, extend, cancel, answer, undo, merge."""
