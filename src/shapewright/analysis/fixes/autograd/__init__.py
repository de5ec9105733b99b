"""Edits for errors of autograd: a graph freed, cut, carried on or written to."""
