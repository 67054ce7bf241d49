"""Traces and metrics as values, derived from the journal; `adapters/telemetry` sends them."""
