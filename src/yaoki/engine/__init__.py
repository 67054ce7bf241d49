"""Runs tasks: a stage does the work, the worker records the outcome, the pool fills the slots."""
