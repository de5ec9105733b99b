"""Targets and specs: what to run and what to feed it."""
