"""Importing this registers the index maps of all families."""

from shapewright.rules.maps import convolving, gathering, itself
from shapewright.rules.maps.index_map import MAPS

__all__ = ["MAPS", "convolving", "gathering", "itself"]
