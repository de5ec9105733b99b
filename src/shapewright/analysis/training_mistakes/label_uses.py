"""Follow features and a label through a file, to where both are of one training."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from shapewright.analysis.training_mistakes.table_columns import strip_conversions
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    list_arguments,
    list_parameters,
    pair_targets,
)

LOSS = re.compile(r"loss|crit|entropy|objective|mse|(^|_)(bce|nll|ce|l1)(_|$)", re.I)
LABEL = re.compile(
    r"^(y|ys|yb|by|labels?|targets?|t|tgt|lab|lbl)(_|\d|$)|_(y|labels?|targets?)$", re.I
)
CHOOSING = frozenset(
    {
        "drop", "pop", "delete", "filter", "take", "index_select", "narrow", "hsplit",
        "SelectKBest", "insert",
    }
)  # fmt: skip
"""Calls that may leave columns out."""
PAIRING = re.compile(r"data|load|split|train|fit|batch|zip|shuffle|iter|^_?[A-Z]")
"""Calls that take features and labels of the same rows."""
SHOWN = frozenset({"print", "len", "plot", "scatter", "hist", "info", "display"})
SETTLED = 3
"""Turns in which names are followed."""


def has_label_loss(text: SourceText) -> bool:
    """Return whether a loss of a file compares something with a label."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and LOSS.search(get_called_name(node)):
            if any(_is_label(text, value) for value in list_arguments(node)):
                return True
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            outer = text.parent(node)
            is_power = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Pow)
            is_method = get_last_name(outer) in ("pow", "square", "abs") if outer else 0
            sides = (node.left, node.right)
            if (is_power or is_method) and any(_is_label(text, s) for s in sides):
                return True
    return False


def _is_label(text: SourceText, value: ast.expr) -> bool:
    """Return whether an argument has a name of labels, or is the last that a loop over
    batches has.
    """
    core = strip_conversions(value, of_label=True)
    if isinstance(core, ast.Subscript):
        if isinstance(core.slice, ast.Constant) and core.slice.value == 1:
            return True  # `batch[1]`
        core = strip_conversions(core.value, of_label=True)
    name = get_last_name(core)
    return bool(name) and (LABEL.search(name) is not None or _is_last(text, core))


def _is_last(text: SourceText, core: ast.expr) -> bool:
    """Return whether a name is the last of several that a loop gets of a batch."""
    loop = text.around(core, ast.For)
    if loop is None:
        return False
    target = loop.target
    if get_called_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[-1]
    is_batch = isinstance(target, ast.Tuple | ast.List) and len(target.elts) > 1
    if not is_batch or not isinstance(target, ast.Tuple | ast.List):
        return False
    return get_last_name(target.elts[-1]) == get_last_name(core)


class LabelUses:
    """What a scope does with features and with their label."""

    def __init__(
        self, text: SourceText, values: tuple[ast.expr, ast.expr], names: list[str]
    ) -> None:
        self.text = text
        self.values = values
        self.function = text.around(values[0], *FUNCTIONS)
        self.start = text.statement_of(values[0])
        self.scope: ast.AST | None = self.function or text.tree
        if isinstance(text.parent(self.function), ast.ClassDef):
            self.scope = text.parent(self.function)  # a method
        self.nodes = tuple(self._iter_nodes())
        self.known = [self._follow(name, at) for at, name in enumerate(names)]
        self.made = self._list_made()

    def are_paired(self) -> bool:
        """Return whether one call, result or loss takes both, with the same rows and
        with all columns of the features.
        """
        others = self._list_rows(0) ^ self._list_rows(1)
        is_shifted = any(re.search(r"[a-zA-Z]", rows) for rows in others)
        shared = self._list_rows(0) & self._list_rows(1)
        if self._is_cut() or is_shifted or (others and not shared):
            return False
        return any(map(self._has_both, self.nodes))

    def _has_both(self, node: ast.AST) -> bool:
        """Return whether a call or a result has features and label, or a loss compares
        the label with what is made of the features.
        """
        parts: list[ast.expr] = []
        is_loss = False
        name = get_called_name(node)
        if isinstance(node, ast.Call) and (LOSS.search(name) or PAIRING.search(name)):
            parts, is_loss = list_arguments(node), LOSS.search(name) is not None
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            parts, is_loss = [node.left, node.right], True
        elif isinstance(node, ast.Return | ast.Yield):
            result = node.value
            if isinstance(result, ast.Dict):
                parts = result.values
            elif isinstance(result, ast.Tuple):
                parts = result.elts
        return self._holds(parts, 1) and self._holds(parts, 0, has_made=is_loss)

    def _iter_nodes(self) -> Iterator[ast.AST]:
        """Yield the nodes of the scope, without those of functions within it."""
        for node in ast.walk(self.scope) if self.scope is not None else ():
            is_own = isinstance(self.scope, ast.ClassDef) or (
                self.text.around(node, *FUNCTIONS) is self.function
            )
            if is_own:
                yield node

    def _iter_assigned(self) -> Iterator[tuple[str, ast.expr, ast.Assign]]:
        """Yield the names that are assigned behind the features, with their values."""
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for part, value in pair_targets(target, node.value):
                        for name, source in _iter_parts(part, value):
                            yield name, source, node

    def _follow(self, name: str, at: int) -> frozenset[str]:
        """Return the names of a value that is converted or scaled, or of its rows."""
        known = {name} - {""}
        for _ in range(SETTLED):
            for target, value, node in self._iter_assigned():
                is_later = node.lineno >= self.start.lineno
                is_same = value is self.values[at]
                if is_same or (is_later and self._root(value) in known):
                    known.add(target)
        return frozenset(known)

    def _root(self, value: ast.expr) -> str:
        """Return the name of which an expression has all columns."""
        for _ in range(SETTLED):
            value = strip_conversions(value, of_label=True)
            if isinstance(value, ast.Subscript) and _is_of_rows(value):
                value = value.value
            if isinstance(value, ast.Attribute) and value.attr in ("iloc", "loc"):
                value = value.value
        return get_dotted_name(value)

    def _list_made(self) -> frozenset[str]:
        """Return the names of what calls make of the features."""
        return frozenset(
            target
            for target, value, _ in self._iter_assigned()
            if any(
                isinstance(node, ast.Call) and self._holds(list_arguments(node), 0)
                for node in ast.walk(value)
            )
        )

    def _holds(self, values: list[ast.expr], at: int, has_made: bool = False) -> bool:
        """Return whether an expression is the features (0) or the label (1), or what a
        model made of them.
        """
        known = self.known[at]
        for value in values:
            if value is self.values[at] or self._root(value) in known:
                return True
            inner = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
            if has_made and any(
                get_dotted_name(node) in self.made | known for node in inner
            ):
                return True
        return False

    def _list_rows(self, at: int) -> set[str]:
        """Return the texts of the rows that are read of the features or the label."""
        rows = set()
        for node in self.nodes:
            if not isinstance(node, ast.Subscript) or not _is_of_rows(node):
                continue
            if self._root(node.value) not in self.known[at]:
                continue
            around = [get_called_name(outer) for outer in self.text.outwards(node)]
            if not SHOWN & set(around) and not isinstance(node.slice, ast.Constant):
                rows.add(ast.unparse(node.slice))
        return rows

    def _is_cut(self) -> bool:
        """Return whether columns of the features are chosen somewhere, or their name is
        given something else.
        """
        known = self.known[0]
        for target, value, node in self._iter_assigned():
            is_other = target in known and self._root(value) not in known
            is_own = value in self.values or self._is_of_loop(node, target)
            if is_other and self._is_behind(node) and not is_own:
                return True
        for part in self.nodes:
            if not self._is_behind(part):
                continue
            if self._is_part(part, known):
                return True
            if isinstance(part, ast.Call) and get_called_name(part) in CHOOSING:
                owner = get_receiver(part)
                values = [*part.args, *([owner] if owner is not None else [])]
                if any(self._root(value) in known for value in values):
                    return True
        return self._is_cut_by_model()

    def _is_behind(self, node: ast.AST) -> bool:
        """Return whether a node is reached behind the features are taken."""
        if self.text.around(node, *FUNCTIONS) is not self.function:
            return True
        return getattr(node, "lineno", 0) > (self.start.end_lineno or 0)

    def _is_of_loop(self, node: ast.stmt, name: str) -> bool:
        """Return whether a loop around a statement gives a name each batch."""
        return any(
            isinstance(outer, ast.For)
            and any(get_dotted_name(part) == name for part in ast.walk(outer.target))
            for outer in self.text.outwards(node)
        )

    def _is_cut_by_model(self) -> bool:
        """Return whether a model chooses columns of what it gets, or a data set some of
        the features.
        """
        data_sets = {
            get_called_name(node)
            for node in self.nodes
            if isinstance(node, ast.Call) and self._holds(list_arguments(node), 0)
        }
        for _, function in self.text.functions():
            owner = self.text.parent(function)
            if function.name == "forward":
                names = set(list_parameters(function)[1:])
            elif isinstance(owner, ast.ClassDef) and owner.name in data_sets:
                names = {get_dotted_name(node) for node in ast.walk(function)} - {""}
            else:
                continue
            if any(self._is_part(node, names) for node in ast.walk(function)):
                return True
        return False

    def _is_part(self, node: ast.AST, names: Collection[str]) -> bool:
        """Return whether an expression chooses columns of what has one of these
        names.
        """
        if not isinstance(node, ast.Subscript) or _is_of_rows(node):
            return False
        return self._root(node.value) in names


def _iter_parts(part: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of a target with what each is part of: those of a split with the
    tables that it takes.
    """
    if isinstance(part, ast.Tuple) and isinstance(value, ast.Call):
        is_split = get_called_name(value) == "train_test_split"
        for at, item in enumerate(part.elts):
            if is_split and at // 2 < len(value.args):
                yield get_dotted_name(item), value.args[at // 2]
    elif get_dotted_name(part):
        yield get_dotted_name(part), value


def _is_of_rows(node: ast.Subscript) -> bool:
    """Return whether an index chooses rows, and no columns."""
    index = node.slice
    if isinstance(index, ast.Tuple):
        columns = [ast.unparse(item) for item in index.elts[1:]]
        return all(item in (":", "None", "...") for item in columns)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return True
    return not (isinstance(index, ast.Constant) and isinstance(index.value, str))
