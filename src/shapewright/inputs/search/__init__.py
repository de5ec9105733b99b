"""Search inputs for a target if the user gave none: run hypotheses until one fits."""

from shapewright.inputs.search.hypothesis_search import MOST, Found, search_inputs

__all__ = ["MOST", "Found", "search_inputs"]
