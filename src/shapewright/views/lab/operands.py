"""The program's own words for the tensors of a call."""

from __future__ import annotations

import ast

from shapewright.source.span import Span
from shapewright.trace.fact import Fact
from shapewright.trace.module import ModuleCall
from shapewright.trace.op import Op

Place = tuple[int, int, int, int]


class Written:
    """A file's text, and its expressions by where they stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.nodes: dict[Place, ast.AST] = {}
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.AugAssign | ast.Assign):
                self.nodes.setdefault(self.place(node), node)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Where a node stands, as spans count: characters from 1."""
        last = node.end_lineno or node.lineno
        return (
            node.lineno, self.column(node.lineno, node.col_offset),
            last, self.column(last, node.end_col_offset or 0),
        )  # fmt: skip

    def column(self, line: int, offset: int) -> int:
        raw = self.lines[line - 1].encode()[:offset]
        return len(raw.decode("utf-8", "replace")) + 1

    def segment(self, span: Span) -> str:
        """The text of a span, in one line."""
        lines = self.lines[span.line - 1 : span.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return " ".join(" ".join(lines).split())

    def of(self, node: ast.AST | None) -> str:
        """The text of a node, in one line."""
        if not isinstance(node, ast.expr):
            return ""
        return self.segment(Span("", *self.place(node)))


def written_at(written: Written, span: Span) -> tuple[str, ast.AST | None]:
    """The expression of a span: its text, and its node where there is one."""
    place = (span.line, span.column, span.end_line, span.end_column)
    return written.segment(span), written.nodes.get(place)


def operands_of(
    written: Written, op: Op, node: ast.AST | None, layer: ModuleCall | None
) -> list[str]:
    """The words for each input of an op; empty where the text does not tell."""
    if layer is not None:
        return of_layer(written, op, node, layer)
    places = op.places or free_places(op)
    found = []
    for place in places:
        found.append(written.of(operand(node, op, place)))
    return found if len(found) == len(op.inputs) else [""] * len(op.inputs)


def of_layer(
    written: Written, op: Op, node: ast.AST | None, layer: ModuleCall
) -> list[str]:
    """The words for what a layer was given, found again by the tensors' numbers."""
    named: dict[int, str] = {}
    if isinstance(node, ast.Call) and not starred(node):
        args, kwargs = layer.inputs
        pairs = [*zip(args, node.args, strict=False)]
        pairs += [(kwargs.get(one.arg or ""), one.value) for one in node.keywords]
        for given, said in pairs:
            if isinstance(given, Fact):
                named[given.tensor] = written.of(said)
    return [named.get(fact.tensor, "") for fact in op.inputs]


def operand(node: ast.AST | None, op: Op, place: str) -> ast.AST | None:
    """The expression that stands in a place of a call."""
    first, *way = place.split(".")
    found: ast.AST | None = None
    match node:
        case ast.Call() if not starred(node):
            found = argument(node, op, first)
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            found = side(left, right, op, first)
        case ast.AugAssign(target, _, value):
            found = side(target, value, op, first)
        case ast.UnaryOp(_, value) | ast.Attribute(value):
            found = value if first == "0" else None
        case ast.Subscript(value, index):
            found = value if first == "0" else index if first == "1" else None
        case ast.Assign([ast.Subscript(value, index)], given):
            found = {"0": value, "1": index, "2": given}.get(first)
    for step in way:
        items = found.elts if isinstance(found, ast.List | ast.Tuple) else []
        plain = not any(isinstance(item, ast.Starred) for item in items)
        at = int(step) if step.isdecimal() else len(items)
        found = items[at] if plain and at < len(items) else None
    return found


def argument(node: ast.Call, op: Op, place: str) -> ast.AST | None:
    """An argument of a call that is written as the call of this very function."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    called = node.func.id if isinstance(node.func, ast.Name) else called
    function = (op.function or op.name).rpartition(".")[2]
    if called != function:
        return None
    if not place.isdecimal():
        return next((one.value for one in node.keywords if one.arg == place), None)
    at = int(place)
    method = op.name.startswith("Tensor.") or op.function.startswith("torch.Tensor.")
    if method and isinstance(node.func, ast.Attribute):
        if at == 0:
            return node.func.value
        at -= 1
    return node.args[at] if at < len(node.args) else None


def side(left: ast.expr, right: ast.expr, op: Op, place: str) -> ast.AST | None:
    """The side of an operator; with a number on one side, the tensor is the other."""
    if len(op.inputs) == 1:
        numbers = [isinstance(one, ast.Constant) for one in (left, right)]
        return (left, right)[numbers.index(False)] if sum(numbers) == 1 else None
    turned = op.function.rpartition(".")[2].startswith("__r")
    return {"0": left, "1": right}.get(place) if not turned else None


def starred(node: ast.Call) -> bool:
    """Whether a call has `*args` or `**kwargs`."""
    return any(isinstance(one, ast.Starred) for one in node.args) or any(
        one.arg is None for one in node.keywords
    )


def free_places(op: Op) -> list[str]:
    """The positions that no other argument has, as many as there are tensors."""
    taken = {name for name, _ in op.arguments}
    free = (str(at) for at in range(len(taken) + len(op.inputs)))
    return [place for place in free if place not in taken][: len(op.inputs)]
