"""Targets and specs: what to run, and the inputs to run it with."""
