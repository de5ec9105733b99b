"""Importing this module registers the index maps of every operator family."""

from shapewright.index_maps.index_map import MAPS
from shapewright.operators import import_families

__all__ = ["MAPS"]

import_families("index_map")
