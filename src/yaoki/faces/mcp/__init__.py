"""The interface for agents, over MCP and by `yaoki result`.

No tool approves, answers, waives, merges or cancels: only people do.
"""
