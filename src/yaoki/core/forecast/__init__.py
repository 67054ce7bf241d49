"""The forecast of a run: its graph, simulated with attempts that were measured before."""
