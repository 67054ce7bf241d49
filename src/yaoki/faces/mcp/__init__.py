"""The face for agents: what they may say and ask, over MCP and by `yaoki result`.

No tool approves, answers, waives, merges or cancels: those are people's.
"""
