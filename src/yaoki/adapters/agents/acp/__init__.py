"""The Agent Client Protocol: a client for every agent that speaks it.

The shim runs it as `python -m yaoki.adapters.agents.acp`, so it survives the death of a worker: the
prompt comes on standard input, events go to standard output as JSON lines (`event_log.py`).
"""
