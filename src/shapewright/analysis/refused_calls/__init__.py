"""Calls that torch or a library refuses in its own words: the cause, and the edit."""
