"""Where a program writes sizes: the arguments of a call that stand for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

SHAPING = frozenset(
    "view reshape expand broadcast_to zeros ones empty randn rand new_zeros new_ones "
    "new_empty rearrange".split()
)
"""Calls whose arguments are all sizes."""

FIRST = frozenset({"split", "topk", "full", "new_full"})
"""Calls whose first argument is a size."""

MADE: dict[str, tuple[int, str]] = {
    "Linear": (1, "out_features"),
    "Embedding": (1, "embedding_dim"),
    "RNN": (1, "hidden_size"),
    "GRU": (1, "hidden_size"),
    "LSTM": (1, "hidden_size"),
    **{f"Conv{n}d": (1, "out_channels") for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": (1, "out_channels") for n in (1, 2, 3)},
}
"""Layers of torch: the argument that is a size of what they give."""

WORDS = frozenset({"size", "shape", "split_size", "split_size_or_sections", "k"})
"""Keywords of sizes; those of `rearrange` are all sizes."""


def sizes_of_call(node: ast.AST) -> Iterator[ast.expr]:
    """The arguments of a call that are sizes, the ends of a slice."""
    if isinstance(node, ast.Call) and called(node) in SHAPING | FIRST:
        name = called(node)
        yield from node.args[:1] if name in FIRST else node.args
        for word in node.keywords:
            if word.arg in WORDS or name == "rearrange":
                yield word.value
    elif isinstance(node, ast.Subscript):
        for each in ast.walk(node.slice):
            if isinstance(each, ast.Slice) and each.lower is None and each.upper:
                yield each.upper


def sizes_of_layers(node: ast.AST) -> Iterator[ast.expr]:
    """The sizes that the layers built in an expression give."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and called(each) in MADE:
            at, name = MADE[called(each)]
            if len(each.args) > at:
                yield each.args[at]
            yield from (word.value for word in each.keywords if word.arg == name)


def called(call: ast.Call) -> str:
    """`view` of ``x.view(4)``, `Linear` of ``nn.Linear(4, 2)``."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
