"""Importing this registers the index maps of all families."""

from shapewright.rules.maps import (
    binary,
    einsum,
    gathering,
    itself,
    layers,
    ordering,
    pointwise,
    products,
    reducing,
)
from shapewright.rules.maps.index_map import MAPS

__all__ = [
    "MAPS",
    "binary",
    "einsum",
    "gathering",
    "itself",
    "layers",
    "ordering",
    "pointwise",
    "products",
    "reducing",
]
