"""What an agent must not change: fingerprints of it, and a git repository of the agent's own."""
