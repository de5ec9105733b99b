"""Find seeds that each item of a data set sets to the same number: all items, in all
epochs, get the same random changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SEED_REPEATED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name, get_last_name

SEEDING = ("seed", "manual_seed")
EVALUATED = re.compile(r"test|val|eval|toy|synth|fake|dummy|random", re.IGNORECASE)
"""Names of data whose items may well be the same each time."""
SHUFFLED = re.compile(r"shuffle\s*=\s*True")


def find_item_seeds(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `random.seed(42)` in `__getitem__`, set for an image and again for its mask
    or once, in front of random changes.
    """
    for text in scene.program.own_texts():
        for _, function in text.functions("__getitem__"):
            owner = text.around(function, ast.ClassDef)
            if owner is None or EVALUATED.search(owner.name):
                continue
            seeds = list_constant_seeds(function)
            texts = scene.program.own_texts()
            if not seeds or not any(SHUFFLED.search(other.text) for other in texts):
                continue
            if not _is_changed_behind(text, owner, function, seeds[0]):
                continue
            yield build_finding(
                SEED_REPEATED,
                f"`{text.line_of(seeds[0])}` sets the same seed for each item: all of"
                " them, in all epochs, get the same random changes",
                text.span(seeds[0]),
                *((text.span(other), "and again here") for other in seeds[1:]),
            )


def list_constant_seeds(function: ast.AST) -> list[ast.Call]:
    """Return the calls of a function that set the seed of a generator that all share to
    a number in the text.
    """
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and get_called_name(node) in SEEDING
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and get_last_name(get_receiver(node) or node) in ("random", "torch")
    ]


def _is_changed_behind(
    text: SourceText, owner: ast.ClassDef, function: ast.AST, seed: ast.Call
) -> bool:
    """Return whether something behind a seed changes an item at random: a transform, a
    draw.
    """
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or node.lineno <= seed.lineno:
            continue
        if get_called_name(node) in SEEDING:
            continue
        words = f"{ast.unparse(node.func)}".lower()
        if re.search(r"transform|aug|flip|crop|rotat|jitter|random|rand", words):
            return True
    return False
