"""Texts that become values: plans, playbooks, registries, settings, prompts, source code."""
