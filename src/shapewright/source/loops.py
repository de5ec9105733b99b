"""Loops that tell of themselves: a program's tree, changed before it is compiled.

``for x in loader:`` becomes ``for x in over(loader, ...):``, and ``while c:`` asks
``going(c)``. Places stay those of the text, so spans are as without it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

OVER = "_shapewright_over"
WHILE = "_shapewright_while"
COUNTED = "_shapewright_counted"

PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Load)
"""Nodes of expressions that may be evaluated once more without any effect."""


def with_loops_told(tree: ast.Module, file: str) -> ast.Module:
    """The tree with every loop told of: `for`, `while`, and `enumerate` in their heads.

    The names `OVER`, `WHILE` and `COUNTED` must be builtins when it runs.
    """
    return with_names(tree, file, OVER, WHILE, lambda node: True)


def with_names(
    tree: ast.Module,
    file: str,
    over: str,
    going: str,
    is_meant: Callable[[ast.For | ast.While], bool],
) -> ast.Module:
    """The tree with some loops told of by functions of these names."""
    changed: ast.Module = _Teller(file, over, going, is_meant).visit(tree)
    return ast.fix_missing_locations(changed)


class _Teller(ast.NodeTransformer):
    def __init__(
        self,
        file: str,
        over: str,
        going: str,
        is_meant: Callable[[ast.For | ast.While], bool],
    ) -> None:
        self.file = file
        self.over = over
        self.going = going
        self.is_meant = is_meant
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A generator's loops go on as long as somebody asks it."""
        if not any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own(node)):
            self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        if not self.is_meant(node):
            return self.generic_visit(node)
        periods = self.periods(node)
        self.generic_visit(node)
        head = _Counter().visit(node.iter)
        node.iter = self.call(self.over, node.iter, [head, *self.place(node), periods])
        return node

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        if not self.is_meant(node):
            return self.generic_visit(node)
        periods = self.periods(node)
        self.generic_visit(node)
        self.count += 1
        name = f"{self.going}_{self.count}"
        begun = ast.Assign(
            [ast.Name(name, ast.Store())],
            self.call(self.going, node, [*self.place(node), periods]),
        )
        node.test = self.call(name, node.test, [node.test])
        ended = ast.Expr(
            ast.Call(
                ast.Attribute(ast.Name(name, ast.Load()), "end", ast.Load()), [], []
            )
        )
        for each in ast.walk(ended):
            ast.copy_location(each, node)
        whole = ast.copy_location(ast.Try([node], [], [], [ended]), node)
        return [ast.copy_location(begun, node), whole]

    def place(self, node: ast.stmt) -> list[ast.expr]:
        """File and line, as arguments."""
        return [ast.Constant(self.file), ast.Constant(node.lineno)]

    def call(self, name: str, at: ast.AST, args: list[ast.expr]) -> ast.expr:
        """A call of ours at the place of what it stands for."""
        made = ast.Call(ast.Name(name, ast.Load()), args, [])
        for each in (made, made.func, *args):
            if not hasattr(each, "lineno"):
                ast.copy_location(each, at)
        return made

    def periods(self, node: ast.For | ast.While) -> ast.expr:
        """`((lambda: n, by), ...)` for what the loop's own conditions divide by.

        `by` says whether it is the number of the turn, as the loop's head gives it.
        """
        heads = _names(node.target) if isinstance(node, ast.For) else set()
        found: list[ast.expr] = []
        for each in _divisions(node):
            nothing = ast.arguments([], [], None, [], [], None, [])
            value = ast.Lambda(nothing, _copied(each.right))
            of_head = bool(_names(each.left)) and _names(each.left) <= heads
            found.append(ast.Tuple([value, ast.Constant(of_head)], ast.Load()))
        return ast.Tuple(found, ast.Load())


class _Counter(ast.NodeTransformer):
    """`enumerate(x)` in the head of a loop becomes `counted(enumerate, x)`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "enumerate":
            name = ast.copy_location(ast.Name(COUNTED, ast.Load()), node.func)
            return ast.copy_location(
                ast.Call(name, [node.func, *node.args], node.keywords), node
            )
        return node


def _divisions(loop: ast.For | ast.While) -> Iterator[ast.BinOp]:
    """`a % b` in conditions of the loop's body that are not an inner loop's."""
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.If | ast.IfExp):
            for each in ast.walk(node.test):
                if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod):
                    inner = ast.walk(each.right)
                    if all(isinstance(one, PLAIN) for one in inner):
                        yield each
        waiting += ast.iter_child_nodes(node)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function that are not of a function within."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _names(node: ast.AST) -> set[str]:
    """The names in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _copied(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body
