"""Inputs for a target when nobody gave any: hypotheses are run until one fits."""

from shapewright.inputs.search.hypothesis_search import MOST, Found, search

__all__ = ["MOST", "Found", "search"]
