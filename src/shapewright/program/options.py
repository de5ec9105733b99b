"""The settings that a program declares by name: options of its command line, and
entries of its dicts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of a command line: its name in the parsed arguments, the call that
    declares it, and its default, if it has one.
    """

    name: str
    call: ast.Call
    default: ast.expr | None


def iter_options(text: SourceText) -> Iterator[_Option]:
    """Yield the options that a file declares: `add_argument("--beam-size", default=3)`
    is `beam_size`.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "add_argument":
            continue
        words = {word.arg: word.value for word in node.keywords}
        names = [
            part.value
            for part in node.args
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        long = [name for name in names if name.startswith("--")]
        dest = words.get("dest")
        if isinstance(dest, ast.Constant):
            name = str(dest.value)
        else:
            name = (long or names or [""])[0].lstrip("-").replace("-", "_")
        if name:
            yield _Option(name, node, words.get("default"))


def iter_entries(text: SourceText, key: str) -> Iterator[ast.expr]:
    """Yield the values that dicts of a file, as they are written, have for a key."""
    for node in text.nodes:
        if isinstance(node, ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key:
                    yield value
        elif isinstance(node, ast.Call) and get_called_name(node) == "dict":
            yield from (word.value for word in node.keywords if word.arg == key)
