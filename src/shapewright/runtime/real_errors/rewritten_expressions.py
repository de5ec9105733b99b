"""Rewrite an expression so that a guard checks each of its steps.

`self.fc(x.T)` becomes ``call(get(self, "fc"))(get(x, "T"))``, compiled at the places of
the original: an error of torch then has the same place as in the real run. `guards.py`
has the checks.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import CodeType
from typing import Any, TypeVar

PREFIX = "_shapewright_"
"""The prefix of the names that we add; no program has them."""
ASKED = ("call", "get", "held", "plain", "each", "above", "wrote")
"""The names of the checks: see `guards.Guards`."""
Node = TypeVar("Node", bound=ast.AST)


class Unsafe(Exception):
    """Raised for an expression that cannot run twice, since it writes or waits."""


class _Rewriting(ast.NodeTransformer):
    """A rewriter of an expression; `known` maps dumps of expressions to names of their
    values.

    `cls` is the class around the expression, whose private names it may use; `root` may
    write in place: it is the call that failed, which has not written.
    """

    def __init__(self, known: Mapping[str, str], cls: str, root: ast.AST) -> None:
        self.known = known
        self.cls = cls
        self.root = root
        self.names: set[str] = set()

    def visit(self, node: ast.AST) -> Any:
        """Replace an expression whose value is known by the name of that value."""
        if self.known and isinstance(node, ast.expr):
            name = self.known.get(ast.dump(node))
            if name is not None:
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            self.names.add(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = node.attr
        if name.startswith("__") and not name.endswith("__") and self.cls:
            name = f"_{self.cls.lstrip('_')}{name}"
        return _make_check_call("get", node, self.visit(node.value), ast.Constant(name))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node is not self.root and _is_in_place(node):
            return self.written(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            if node.args:
                raise Unsafe("names the class whose parent it calls")
            return _make_check_call("above", node)
        func = _make_check_call("call", node.func, self.visit(node.func))
        args = [self.visit(argument) for argument in node.args]
        words = [self.visit(keyword) for keyword in node.keywords]
        return ast.copy_location(ast.Call(func, args, words), node)

    def written(self, node: ast.Call) -> ast.expr:
        """Replace an in-place call, which has already run, by the object written to."""
        func = node.func
        if isinstance(func, ast.Attribute) and _is_named(func.value):
            return _make_check_call("wrote", node, self.visit(func.value))
        raise Unsafe("writes in place")

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        value = _make_check_call("each", node.value, self.visit(node.value))
        return ast.copy_location(ast.Starred(value, node.ctx), node)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        value = self.visit(node.value)
        if node.arg is None:
            value = _make_check_call("each", node.value, value)
        return ast.copy_location(ast.keyword(node.arg, value), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        value = _make_check_call("held", node.value, self.visit(node.value))
        subscript = ast.Subscript(value, self.visit(node.slice), node.ctx)
        return ast.copy_location(subscript, node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        if node.is_async:
            raise Unsafe("waits")
        node = self.inside(node)
        node.iter = _make_check_call("each", node.iter, node.iter)
        node.ifs = [_make_check_call("plain", test, test) for test in node.ifs]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.plain(node.left), self.plain(node.right)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operation = ast.UnaryOp(node.op, self.plain(node.operand))
        return ast.copy_location(operation, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        operation = ast.BoolOp(node.op, [self.plain(value) for value in node.values])
        return ast.copy_location(operation, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        rest = [self.plain(comparator) for comparator in node.comparators]
        comparison = ast.Compare(self.plain(node.left), node.ops, rest)
        return ast.copy_location(comparison, node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        body, other = self.visit(node.body), self.visit(node.orelse)
        conditional = ast.IfExp(self.plain(node.test), body, other)
        return ast.copy_location(conditional, node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node = self.inside(node)
        node.value = _make_check_call("plain", node.value, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        raise Unsafe("gives a name on the way")

    def visit_Await(self, node: ast.Await) -> ast.expr:
        raise Unsafe("waits")

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        raise Unsafe("waits")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        raise Unsafe("waits")

    def plain(self, node: ast.expr) -> ast.expr:
        """Rewrite an operand of an operator."""
        return _make_check_call("plain", node, self.visit(node))

    def inside(self, node: Node) -> Node:
        """Return a node of the same kind with its parts rewritten."""
        parts = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                parts[name] = [self.visit(item) for item in value]
            else:
                parts[name] = self.visit(value) if isinstance(value, ast.AST) else value
        return ast.copy_location(type(node)(**parts), node)

    generic_visit = inside


def _make_check_call(question: str, at: ast.AST, *args: ast.expr) -> ast.expr:
    """Return a call of a check, located at a node."""
    call = ast.Call(ast.Name(PREFIX + question, ast.Load()), list(args), [])
    return _place_node(call, at)


def _place_node(call: ast.expr, at: ast.AST) -> ast.expr:
    """Give a new call the location of a node; its arguments keep their own."""
    assert isinstance(call, ast.Call)
    ast.copy_location(call, at)
    ast.copy_location(call.func, at)
    for argument in call.args:
        if not hasattr(argument, "lineno"):
            ast.copy_location(argument, at)
    return call


def _is_in_place(node: ast.Call) -> bool:
    """Return whether a call writes in place, as `x.add_(1)` does."""
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else ""
    if name.endswith("_") and not name.endswith("__"):
        return True
    return any(word.arg in ("out", "inplace") for word in node.keywords)


def _is_named(node: ast.expr) -> bool:
    """Return whether an expression is a name, or an attribute that makes no new tensor.

    A method in place returns the object on which it was called.
    """
    if isinstance(node, ast.Call) and _is_in_place(node):
        return isinstance(node.func, ast.Attribute) and _is_named(node.func.value)
    if isinstance(node, ast.Attribute):
        return node.attr not in VIEWS and _is_named(node.value)
    return isinstance(node, ast.Name)


VIEWS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})


def compile_expression(
    node: ast.AST, parent: ast.AST | None, file: str, known: Mapping[str, str], cls: str
) -> tuple[CodeType, set[str]]:
    """Return the compiled code of a rewritten expression, and the names that it reads.

    A statement that writes (`x += y`, `x[i] = y`) writes into the object of the name:
    the name itself, or the attribute, is not given another value.
    """
    change = _Rewriting(known, cls, node)
    if isinstance(node, ast.AugAssign):
        name = f"{PREFIX}target"
        target_load = change.plain(_make_load(node.target))
        first = ast.Assign([ast.Name(name, ast.Store())], target_load)
        target = ast.copy_location(ast.Name(name, ast.Store()), node.target)
        then = ast.AugAssign(target, node.op, change.plain(node.value))
        body: list[ast.stmt] = [first, then]
        for statement in body:
            ast.copy_location(statement, node)
        whole: ast.Module | ast.Expression = ast.Module(body, [])
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            raise Unsafe("gives several values at once")
        assignment = ast.Assign([change.visit(node)], change.visit(parent.value))
        whole = ast.Module([ast.copy_location(assignment, parent)], [])
    elif isinstance(node, ast.expr):
        whole = ast.Expression(change.visit(node))
    else:
        raise Unsafe("is no expression")
    mode = "eval" if isinstance(whole, ast.Expression) else "exec"
    code = compile(ast.fix_missing_locations(whole), file, mode, dont_inherit=True)
    return code, change.names


def _make_load(target: ast.expr) -> ast.expr:
    """Return the target of a write as an expression that reads it."""
    parts: dict[str, Any] = {**dict(ast.iter_fields(target)), "ctx": ast.Load()}
    load = type(target)(**parts)
    return ast.copy_location(load, target)
