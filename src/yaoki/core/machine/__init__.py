"""The state machine of a task: events, which of them are legal, and what each changes."""
