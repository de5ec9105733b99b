"""The index map of a tensor as it is: nothing is called."""

from __future__ import annotations

from shapewright.rules.maps.index_map import IndexMap, Read, index_map, out_letters
from shapewright.rules.meta import Meta


@index_map("tensor")
def tensor(input: Meta) -> IndexMap:
    shape = tuple(input.shape)
    return IndexMap(shape, (Read("input", out_letters(len(shape))),))
