"""The Agent Client Protocol: one adapter for every agent that speaks it.

`python -m yaoki.adapters.agents.acp` is the command that the shim runs, so a dead worker loses
nothing: the prompt comes on standard input, events go out as JSON lines (`event_log.py`).
"""
