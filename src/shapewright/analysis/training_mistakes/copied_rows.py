"""Find rows that are oversampled before the data are split: copies of one row come into
both parts.

The text says it: what is joined holds rows of a table and rows that were drawn from the
same table, and a split takes the result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.overlapping_parts import (
    find_overlapping_parts,
)
from shapewright.findings.codes import COPIES_BEFORE_SPLIT, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
)

JOINS = operators_with("concatenates") | {"hstack", "vstack", "append"}
OVERSAMPLERS = ("RandomOverSampler", "SMOTE", "ADASYN")
DRAWS = ("choice", "randint", "integers")
SPLITS = frozenset({"train_test_split", "random_split"})
FOLDS = ("KFold", "ShuffleSplit")
DISTINCT = frozenset({"unique", "drop_duplicates", "set", "len", "print", "nunique"})
"""Calls whose result holds no copies of rows."""
DEEPEST = 8


@looks_for(COPIES_BEFORE_SPLIT)
def find_copies_before_splits(scene: RehearsalContext) -> Iterator[Finding]:
    """Find splits of data that hold copies of rows."""
    yield from find_overlapping_parts(scene)
    for text in scene.program.own_texts():
        copies = _Copies(text)
        for call in text.nodes:
            if not isinstance(call, ast.Call) or not is_split(text, call):
                continue
            first = call.args[:1] if get_called_name(call) != "split" else call.args
            for value in first:
                origin = copies.find_origin(value, call.lineno)
                if origin is None:
                    continue
                yield build_finding(
                    COPIES_BEFORE_SPLIT,
                    "these rows were oversampled before they are split: copies of one"
                    " row come into both parts, and the model is evaluated on rows that"
                    " it was trained on",
                    text.span(call),
                    (text.span(origin), "rows are drawn several times here"),
                )
                break


def is_split(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call divides rows into parts for training and evaluation."""
    name = get_called_name(call)
    if name in SPLITS:
        return True
    if name != "split" or not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value
    built = (
        find_last_value(text, owner, call.lineno)
        if isinstance(owner, ast.Name)
        else owner
    )
    kind = get_called_name(built) if built is not None else ""
    return kind.endswith(FOLDS) and "Group" not in kind


class _Copies:
    """What in a file holds copies of rows, and where they were made."""

    def __init__(self, text: SourceText) -> None:
        self.text = text
        self.functions: dict[str, ast.expr] = {}
        for node in text.nodes:
            if isinstance(node, ast.Return) and node.value is not None:
                function = text.around(node, ast.FunctionDef)
                origin = self.find_origin(node.value, node.lineno + 1)
                if function is not None and origin is not None:
                    self.functions[function.name] = origin

    def find_origin(self, node: ast.expr, line: int, depth: int = 0) -> ast.expr | None:
        """Return the expression that drew rows of an expression several times, as far
        as it stands above a line, or None.
        """
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Name):
            value = find_last_value(self.text, node, line)
            if value is None:
                return None
            return self.find_origin(value, value.lineno, depth + 1)
        if isinstance(node, ast.Call):
            name = get_called_name(node)
            if name in DISTINCT or name in SPLITS:
                return None
            if name in self.functions:
                return self.functions[name]
            if name == "fit_resample" and self._is_oversampler(node):
                return node
            if name in JOINS:
                drawn = self._find_drawn_part(node)
                if drawn is not None:
                    return drawn
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                origin = self.find_origin(part, line, depth + 1)
                if origin is not None:
                    return origin
        return None

    def _is_oversampler(self, call: ast.Call) -> bool:
        """Return whether a call draws more rows of the rare classes."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(owner, ast.Name):
            owner = find_last_value(self.text, owner, call.lineno)
        return owner is not None and get_called_name(owner).endswith(OVERSAMPLERS)

    def _find_drawn_part(self, join: ast.Call) -> ast.expr | None:
        """Return the part of a join that is drawn with replacement from the table of
        which another part has rows, or that repeats rows of another part.
        """
        parts = list(_iter_parts(join))
        roots = [self._find_root(part, join.lineno) for part, _ in parts]
        for at, (part, is_repeated) in enumerate(parts):
            others = roots[:at] + roots[at + 1 :]
            root = roots[at]
            if root is None or root not in others:
                continue
            whole = any(
                isinstance(other, ast.Name) and get_dotted_name(other) == root
                for other, _ in parts[:at] + parts[at + 1 :]
            )
            drawn = self._find_draw(part, join.lineno)
            is_row = self._is_filter(part, join.lineno)
            if drawn is not None or (whole and is_row) or is_repeated:
                return drawn if drawn is not None else join
        return None

    def _resolve(self, node: ast.expr, line: int) -> ast.expr:
        """Return what a name stands for, or the expression itself."""
        value = (
            find_last_value(self.text, node, line)
            if isinstance(node, ast.Name)
            else None
        )
        return value if value is not None else node

    def _is_filter(self, node: ast.expr, line: int) -> bool:
        """Return whether an expression chooses rows by a comparison."""
        value = self._resolve(node, line)
        return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Compare)

    def _find_draw(self, node: ast.expr, line: int) -> ast.expr | None:
        """Return the call that draws rows with replacement, or None."""
        value = self._resolve(node, line)
        if isinstance(value, ast.Subscript):  # `X[rng.choice(rare, n)]`
            value = self._resolve(value.slice, line)
            if isinstance(value, ast.Subscript):  # `rare[torch.randint(len(rare), n)]`
                value = self._resolve(value.slice, line)
            return value if _is_draw(value, DRAWS, is_default=True) else None
        if _is_draw(value, ("sample",), is_default=False):
            return value
        return value if _is_draw(value, ("resample",), is_default=True) else None

    def _find_root(self, node: ast.expr, line: int) -> str | None:
        """Return the name of the table of which an expression has rows, or None."""
        root: str | None = None
        for _ in range(DEEPEST):
            if isinstance(node, ast.Name):
                root = node.id
                value = find_last_value(self.text, node, line)
                is_part = isinstance(value, ast.Subscript) or _is_selection(value)
                if value is None or not is_part:
                    return root
                node, line = value, value.lineno + 1
            elif isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            elif isinstance(node, ast.Call) and get_called_name(node) == "resample":
                if not node.args:
                    return None
                node = node.args[0]
            elif _is_selection(node):
                assert isinstance(node, ast.Call)
                assert isinstance(node.func, ast.Attribute)
                node = node.func.value
            else:
                return None
        return root


def _is_selection(node: ast.AST | None) -> bool:
    """Return whether a call gives some rows of a table."""
    if not isinstance(node, ast.Call):
        return False
    name = get_called_name(node)
    is_method = isinstance(node.func, ast.Attribute)
    return name == "resample" or (is_method and name in ("sample", "query"))


def _is_draw(node: ast.AST, names: tuple[str, ...], is_default: bool) -> bool:
    """Return whether a call of a function draws with replacement."""
    if not isinstance(node, ast.Call) or get_called_name(node) not in names:
        return False
    for word in node.keywords:
        if word.arg == "replace":
            return isinstance(word.value, ast.Constant) and word.value.value is True
    return is_default


def _iter_parts(join: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tables that a call joins, and whether each is there several times."""
    waiting = [(join.args[0], False)] if join.args else []
    if get_called_name(join) == "append":
        waiting = [(value, False) for value in join.args[:2]]
    while waiting:
        node, is_repeated = waiting.pop(0)
        match node:
            case ast.List(parts) | ast.Tuple(parts):
                yield from ((part, is_repeated) for part in parts)
            case ast.BinOp(left, ast.Add(), right):
                waiting += [(left, is_repeated), (right, is_repeated)]
            case ast.BinOp(ast.List() as parts, ast.Mult(), _):
                waiting.append((parts, True))
            case ast.expr() if get_called_name(join) == "append":
                yield node, is_repeated
