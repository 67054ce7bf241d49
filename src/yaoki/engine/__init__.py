"""Carries tasks: stages touch one edge each, the worker records, the pool keeps the slots busy."""
