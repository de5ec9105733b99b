"""Loops of libraries that train: those over epochs tell of themselves.

``for epoch in range(n):`` becomes ``for epoch in epochs(range(n), ...):``, and
``while not self.done:`` asks ``turns(not self.done)``. Other loops stay as they are.
"""

from __future__ import annotations

import ast
import re

from shapewright.source.loops import with_names

EPOCHS = "_shapewright_epochs"
TURNS = "_shapewright_turns"

HEAD = re.compile(rb"^[ \t]+for\b[^\n]*epoch", re.M)
WHILE = re.compile(rb"^[ \t]+while (?!True\b|1\b)", re.M)


def trains(text: bytes) -> bool:
    """Whether a library's file may have a loop over epochs."""
    if b"epoch" not in text:
        return False
    return bool(HEAD.search(text)) or (b"loader" in text and bool(WHILE.search(text)))


def with_epochs_told(tree: ast.Module, file: str) -> ast.Module:
    """The tree with the loops told of that may go over epochs.

    The names `EPOCHS` and `TURNS` must be builtins when it runs.
    """
    return with_names(tree, file, EPOCHS, TURNS, is_meant)


def is_meant(node: ast.For | ast.While) -> bool:
    """Whether a loop may be one over epochs, by its head."""
    if isinstance(node, ast.While):
        return not isinstance(node.test, ast.Constant)
    return "epoch" in ast.unparse(node.target) + ast.unparse(node.iter)
