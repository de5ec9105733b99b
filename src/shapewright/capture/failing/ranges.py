"""Indices whose values are known and read beyond the end.

Without data nothing is read, so torch refuses none of them; a real run would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shapewright.capture import nests
from shapewright.capture.failing.granting import VALUES, seen_by_needs
from shapewright.capture.names import plain_name
from shapewright.capture.ruling import needs_of
from shapewright.rules.needs.registry import unmet
from shapewright.rules.needs.unmet import Unmet

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

WORDS = {
    "embedding": "index out of range in self",
    "index_select": "index out of range in self",
    "cross_entropy": "Target {has} is out of bounds.",
    "nll_loss": "Target {has} is out of bounds.",
}
"""What the CPU says of an index that is out of range."""
OTHERS = frozenset(
    """
    __getitem__ __setitem__ gather scatter scatter_ scatter_add scatter_add_ index_add
    index_add_ index_copy index_copy_
""".split()
)
_indexed: dict[Any, str] = {}


def beyond(engine: Engine, func: Any, args: Any, kwargs: Any) -> Exception | None:
    """What a real run raises where a known index is out of range."""
    name = _indexed.get(func)
    if name is None:
        name = plain_name(func)
        name = _indexed[func] = name if name in WORDS or name in OTHERS else ""
    if not name or not any(
        not tensor.is_floating_point()
        and engine.info(tensor).storage.known
        and tensor.numel() <= VALUES
        for tensor in nests.tensors((args, kwargs))
    ):
        return None
    no = unmet(needs_of(func), *seen_by_needs(engine, args, kwargs))
    if no is None or no.code != "index-out-of-range":
        return None
    kind = IndexError if name in WORDS or "item" in name else RuntimeError
    return kind(words(name, no))


def words(name: str, no: Unmet) -> str:
    """The CPU's words."""
    dim = no.wanted.dim if no.wanted is not None else 0
    other = "index {has} is out of bounds for dimension {dim} with size {n}"
    said = WORDS.get(name, other)
    return said.format(has=no.has, dim=dim, n=no.needs)
