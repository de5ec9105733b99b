"""Importing this registers the index maps of all families."""

from shapewright.rules.maps import (
    adapting,
    convolving,
    folding,
    gathering,
    interpolating,
    itself,
    pooling,
)
from shapewright.rules.maps.index_map import MAPS

__all__ = [
    "MAPS",
    "adapting",
    "convolving",
    "folding",
    "gathering",
    "interpolating",
    "itself",
    "pooling",
]
