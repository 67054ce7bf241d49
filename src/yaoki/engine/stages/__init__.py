"""The four stages of an attempt: prepare, work, verify, land."""
