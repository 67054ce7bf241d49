"""The Agent Client Protocol: one adapter for every agent that speaks it.

`python -m yaoki.agents.acp` is the command that the shim runs, so a dead worker loses nothing: the
prompt comes on standard input, what happened goes out as JSON lines (`telling.py`).
"""
