"""Find streams that each worker of a loader reads as a whole.

A stream without an end that draws its samples differs from worker to worker; one that
asks for its worker, in its own text or that of the program, reads its share.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import REPEATED_BY_WORKERS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_last_name,
)

WORDS = ("worker_info", "worker_id")
DRAWS = frozenset({
    "rand", "randn", "randint", "random", "choice", "choices", "sample", "shuffle",
    "normal", "uniform", "randperm", "rand_like", "randn_like", "permutation",
    "multinomial", "standard_normal", "integers", "randrange",
})  # fmt: skip


@looks_for(REPEATED_BY_WORKERS)
def find_repeated_streams(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loaders whose workers all yield the same samples."""
    texts = list(scene.program.own_texts())
    for met in scene.observations("stream-of-workers"):
        if any(word in text.text for text in texts if text for word in WORDS):
            return
        for text in texts:
            name, count = met.name.split()
            reader = _find_reader(text, name) if text is not None else None
            if text is None or reader is None or not _is_ending(text, reader):
                continue
            message = (
                f"each of the {count} workers runs the whole `__iter__` of"
                f" `{name}`: every sample comes {count} times in an epoch"
            )
            yield build_finding(
                REPEATED_BY_WORKERS,
                message,
                scene.span(met.place, "DataLoader"),
                (text.span(reader.body[0]), "this does not ask for its worker"),
            )


def _find_reader(text: SourceText, class_name: str) -> ast.FunctionDef | None:
    """Return the `__iter__` of a class of the program, or None."""
    for full, function in text.functions("__iter__"):
        if full == f"{class_name}.__iter__" and isinstance(function, ast.FunctionDef):
            return function
    return None


def _is_ending(text: SourceText, reader: ast.FunctionDef) -> bool:
    """Return whether a stream has an end, draws none of its samples, and knows of no
    rank and takes no shard.
    """
    for node in ast.walk(reader):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
            return False
        if get_called_name(node) == "shard" and not text.functions("shard"):
            return False
        if isinstance(node, ast.Name | ast.Attribute) and "rank" in get_last_name(node):
            return False
    return not any(_is_drawing(part) for part in _list_called(text, reader))


def _list_called(text: SourceText, reader: ast.FunctionDef) -> list[ast.AST]:
    """Return the function that reads a stream, and those of the file that it calls: not
    what made the data before, once for all workers.
    """
    held: list[ast.AST] = [reader]
    for part in held:  # grows as it goes
        for name in {get_called_name(node) for node in ast.walk(part)} - {""}:
            held += [f for _, f in text.functions(name) if f not in held]
    return held


def _is_drawing(part: ast.AST) -> bool:
    """Return whether a function draws at random, without a generator of its own."""
    return any(
        isinstance(node, ast.Call)
        and (get_called_name(node) in DRAWS or ".random." in get_dotted_name(node.func))
        and all(word.arg != "generator" for word in node.keywords)
        for node in ast.walk(part)
    )
