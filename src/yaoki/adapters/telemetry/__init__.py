"""Sends spans to a collector and writes samples in Prometheus' format."""
