"""Integrations with other tools: IPython and pytest."""
