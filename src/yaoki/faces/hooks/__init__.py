"""Hook mode: yaoki inside the session of an agent that a person drives.

The agent calls `yaoki hook event AGENT` when it wants to stop; `event.py` is its entry
point and imports nothing that a quick answer does not need.
"""
