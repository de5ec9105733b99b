"""Read the statements and expressions of a function for how it uses arguments."""

from __future__ import annotations

import ast
import inspect
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any

from shapewright.inputs.search import argument_uses
from shapewright.inputs.search.argument_calls import (
    learn_from_function,
    learn_from_method,
)
from shapewright.inputs.search.argument_uses import ModelOperand
from shapewright.operators.facts import values_of

REMOVED = values_of("removes_dims")
SIZES = (ast.Add, ast.Sub, ast.Mult, ast.Div)
TURNED = {"T": (0, 1), "mT": (-2, -1)}


class _Body:
    """A reader of a function body; `names` maps its names to their values."""

    def __init__(
        self,
        walk: argument_uses.Walk,
        function: Any,
        names: argument_uses.Names,
        path: str,
    ) -> None:
        self.walk, self.function = walk, function
        self.names, self.path = names, path
        self.returned: argument_uses.Value = None

    # -- statements -------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            before = self.value(node.target)
            self.put_together(node.op, before, self.value(node.value))
        elif isinstance(node, ast.Return):
            returned = self.value(node.value) if node.value is not None else None
            self.returned = self.returned or returned
        elif isinstance(node, ast.If):
            self.condition(node.test)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.For):
            self.loop(node.target, self.value(node.iter))
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.While):
            self.condition(node.test)
            self.block(node.body)
        elif isinstance(node, ast.With):
            for item in node.items:
                self.value(item.context_expr)
            self.block(node.body)
        elif isinstance(node, ast.Try):
            self.block(node.body)
            self.block(node.finalbody)
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.Assert):
            self.condition(node.test)

    def assign(self, target: ast.expr, value: argument_uses.Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
            return
        if not isinstance(target, ast.Tuple | ast.List):
            return
        count = len(target.elts)
        starred = any(isinstance(element, ast.Starred) for element in target.elts)
        parts: list[argument_uses.Value] = [None] * count
        if isinstance(value, argument_uses.Shape) and not starred:
            self.ranked(value.of, count)
        elif isinstance(value, argument_uses.Several) and len(value.items) == count:
            parts = list(value.items)
        elif isinstance(value, argument_uses.Given) and not starred:
            self.walk.uses(value).parts = count
            parts = [argument_uses.Given((*value.path, n)) for n in range(count)]
        for name, part in zip(target.elts, parts, strict=True):
            self.assign(name, part)

    def ranked(self, argument: argument_uses.Given, rank: int) -> None:
        """Note the rank of an argument whose shape is unpacked."""
        if argument.moves is None:
            return
        rank += sum(REMOVED.get(step[0], 0) for step in argument.moves)
        self.walk.uses(argument).ranks.append(rank)
        self.walk.uses(argument).tensor = True

    def loop(self, target: ast.expr, value: argument_uses.Value) -> None:
        if isinstance(value, argument_uses.Given):
            self.walk.uses(value).iterated = True
            self.assign(target, argument_uses.Given((*value.path, 0)))
        elif isinstance(value, argument_uses.Live):
            member = next(argument_uses.iter_members(value.value), None)
            path = f"{value.path}.0"
            self.assign(
                target, argument_uses.Live(member, path) if member is not None else None
            )
        elif isinstance(value, argument_uses.Several) and value.items:
            self.assign(target, value.items[0])
        else:
            self.assign(target, None)

    def condition(self, node: ast.expr) -> None:
        """Note what a condition shows about the arguments that it tests."""
        if isinstance(node, ast.BoolOp):
            for operand in node.values:
                self.condition(operand)
            return
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand)
            return
        value = self.value(node)
        if isinstance(value, argument_uses.Given) and value.moves == ():
            self.walk.uses(value).flag = True

    # -- expressions ------------------------------------------------------------

    def value(self, node: ast.expr | None) -> argument_uses.Value:
        self.walk.steps += 1
        if node is None or self.walk.steps > argument_uses.MOST_STEPS:
            return None
        reader = getattr(self, f"of_{type(node).__name__}", None)
        if reader is not None:
            value: argument_uses.Value = reader(node)
            return value
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return None

    def of_Constant(self, node: ast.Constant) -> argument_uses.Value:
        return argument_uses.Live(node.value)

    def of_Name(self, node: ast.Name) -> argument_uses.Value:
        if node.id in self.names:
            return self.names[node.id]
        known = self.function.__globals__
        if node.id in known:
            return argument_uses.Live(known[node.id], node.id)
        builtin = argument_uses.find_builtin(node.id)
        return argument_uses.Live(builtin) if builtin is not None else None

    def of_Attribute(self, node: ast.Attribute) -> argument_uses.Value:
        base = self.value(node.value)
        if isinstance(base, argument_uses.Live):
            with suppress(LookupError):
                path = f"{base.path}.{node.attr}"
                return argument_uses.Live(
                    argument_uses.get_member(base.value, node.attr), path
                )
            return None
        if not isinstance(base, argument_uses.Given):
            return None
        if node.attr == "shape":
            self.walk.uses(base).tensor = True
            return argument_uses.Shape(base)
        if node.attr in TURNED:
            return base.moved("transpose", *TURNED[node.attr])
        if node.attr in ("real", "imag"):
            self.walk.uses(base).complex = True
            return base
        if node.attr in ("data", "device", "dtype", "ndim", "requires_grad"):
            self.walk.uses(base).tensor = True
            return base if node.attr == "data" else None
        return argument_uses.Method(base, node.attr)

    def of_Call(self, node: ast.Call) -> argument_uses.Value:
        called = self.value(node.func)
        args: list[argument_uses.Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                inner = self.value(argument.value)
                if isinstance(inner, argument_uses.Several):
                    args += inner.items
                else:
                    args.append(None)
            else:
                args.append(self.value(argument))
        kwargs = {
            keyword.arg: self.value(keyword.value)
            for keyword in node.keywords
            if keyword.arg
        }
        if isinstance(called, argument_uses.Method):
            return learn_from_method(self.walk, called, args, kwargs)
        if isinstance(called, argument_uses.Live):
            return learn_from_function(self.walk, called, args, kwargs)
        return None

    def of_BinOp(self, node: ast.BinOp) -> argument_uses.Value:
        left, right = self.value(node.left), self.value(node.right)
        return self.put_together(node.op, left, right)

    def put_together(
        self, op: ast.operator, left: argument_uses.Value, right: argument_uses.Value
    ) -> argument_uses.Value:
        product = isinstance(op, ast.MatMult)
        for operand, other, side in (
            (left, right, "@"),
            (right, left, "@ of the right"),
        ):
            shape = argument_uses.get_shape(other)
            if isinstance(operand, argument_uses.Given) and shape is not None:
                how = side if product else "+"
                self.walk.uses(operand).beside.append(
                    ModelOperand(how, shape, operand.moves)
                )
        if product:
            return None
        both = isinstance(left, argument_uses.Given) and isinstance(
            right, argument_uses.Given
        )
        if both and isinstance(op, SIZES):
            assert isinstance(left, argument_uses.Given)
            assert isinstance(right, argument_uses.Given)
            self.walk.uses(left).peers.append(right.path)
            self.walk.uses(right).peers.append(left.path)
        if isinstance(left, argument_uses.Several) and isinstance(
            right, argument_uses.Several
        ):
            return argument_uses.Several((*left.items, *right.items))
        if isinstance(left, argument_uses.Live) and isinstance(
            right, argument_uses.Live
        ):
            return None
        return (
            left
            if isinstance(left, argument_uses.Given)
            else (right if isinstance(right, argument_uses.Given) else None)
        )

    def of_UnaryOp(self, node: ast.UnaryOp) -> argument_uses.Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Invert) and isinstance(value, argument_uses.Given):
            self.walk.uses(value).boolean = True
        return value if isinstance(value, argument_uses.Given) else None

    def of_Compare(self, node: ast.Compare) -> argument_uses.Value:
        left = self.value(node.left)
        others = [self.value(comparator) for comparator in node.comparators]
        nothing = any(
            isinstance(comparator, argument_uses.Live) and comparator.value is None
            for comparator in others
        )
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and nothing:
            if isinstance(left, argument_uses.Given):
                self.walk.uses(left).optional = True
            return None
        return None

    def of_IfExp(self, node: ast.IfExp) -> argument_uses.Value:
        self.condition(node.test)
        chosen, otherwise = self.value(node.body), self.value(node.orelse)
        return chosen or otherwise

    def of_BoolOp(self, node: ast.BoolOp) -> argument_uses.Value:
        operands = [self.value(value) for value in node.values]
        return next(
            (
                operand
                for operand in operands
                if isinstance(operand, argument_uses.Given)
            ),
            None,
        )

    def of_Tuple(self, node: ast.Tuple) -> argument_uses.Value:
        return argument_uses.Several(
            tuple(self.value(element) for element in node.elts)
        )

    def of_List(self, node: ast.List) -> argument_uses.Value:
        return argument_uses.Several(
            tuple(self.value(element) for element in node.elts)
        )

    def of_Subscript(self, node: ast.Subscript) -> argument_uses.Value:
        base, index = self.value(node.value), None
        if not isinstance(node.slice, ast.Slice):
            index = self.value(node.slice)
        if isinstance(index, argument_uses.Given):
            shape = argument_uses.get_shape(base)
            if shape:
                self.walk.uses(index).below(shape[0])
            elif isinstance(base, argument_uses.Given) or base is None:
                self.walk.uses(index).tensor = True
            return None
        if isinstance(base, argument_uses.Given):
            return self.part(base, node.slice, index)
        if isinstance(base, argument_uses.Several) and isinstance(
            index, argument_uses.Live
        ):
            with suppress(IndexError, TypeError):
                item: argument_uses.Value = base.items[index.value]
                return item
        if isinstance(base, argument_uses.Live) and isinstance(
            index, argument_uses.Live
        ):
            held = list(argument_uses.iter_members(base.value))
            if type(index.value) is int and -len(held) <= index.value < len(held):
                path = f"{base.path}.{index.value}"
                return argument_uses.Live(held[index.value], path)
            modules = getattr(base.value, "_modules", {})
            if index.value in modules:
                return argument_uses.Live(
                    modules[index.value], f"{base.path}.{index.value}"
                )
        if isinstance(base, argument_uses.Live) and hasattr(base.value, "_modules"):
            found_first = next(argument_uses.iter_members(base.value), None)
            return argument_uses.Live(found_first, f"{base.path}.0")
        return None

    def part(
        self, base: argument_uses.Given, node: ast.expr, index: argument_uses.Value
    ) -> argument_uses.Value:
        """Return a part of an argument: an item by its key, or some of its elements."""
        if isinstance(index, argument_uses.Live) and isinstance(index.value, str):
            self.walk.uses(base).keys[index.value] = None
            return argument_uses.Given((*base.path, index.value))
        if isinstance(index, argument_uses.Live) and type(index.value) is int:
            uses = self.walk.uses(base)
            uses.parts = max(uses.parts, index.value + 1 if index.value >= 0 else 0)
            return base.moved("item", 0)
        if isinstance(node, ast.Slice):
            return base
        if not isinstance(node, ast.Tuple):
            return base.changed()
        self.walk.uses(base).tensor = True
        indexed, place = base, 0
        for element in node.elts:
            if isinstance(element, ast.Slice):
                place += 1
            elif isinstance(element, ast.Constant) and element.value is None:
                indexed, place = indexed.moved("unsqueeze", place), place + 1
            elif isinstance(element, ast.Constant) and element.value is Ellipsis:
                return base.changed()
            elif isinstance(element, ast.Constant | ast.UnaryOp | ast.Name):
                indexed = indexed.moved("item", place)
            else:
                return base.changed()
        return indexed

    def comprehended(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp
    ) -> argument_uses.Value:
        for generator in node.generators:
            self.loop(generator.target, self.value(generator.iter))
        return argument_uses.Several((self.value(node.elt),))

    of_ListComp = of_GeneratorExp = of_SetComp = comprehended

    def of_Lambda(self, node: ast.Lambda) -> argument_uses.Value:
        return None


def _read_body(
    walk: argument_uses.Walk,
    function: Any,
    node: argument_uses.Function,
    names: argument_uses.Names,
    path: str,
) -> argument_uses.Value:
    body = _Body(walk, function, names, path)
    if isinstance(node, ast.Lambda):
        return body.value(node.body)
    body.block(node.body)
    return body.returned


def walk_function(
    called: Any, names: list[str]
) -> dict[tuple[str | int, ...], argument_uses.Uses]:
    """Return how a callable uses the arguments with these names.

    Those of `*inputs` are named `*inputs0`, `*inputs1`.
    """
    walk = argument_uses.Walk(_read_body)
    values: argument_uses.Names = {
        name: argument_uses.Several(
            tuple(argument_uses.Given((f"{name}{n}",)) for n in range(4))
        )
        if name.startswith("*")
        else argument_uses.Given((name,))
        for name in names
    }
    values = {name.lstrip("*"): value for name, value in values.items()}
    module = called if hasattr(called, "_modules") else None
    function: Any = called.forward if module is not None else called
    if not isinstance(function, FunctionType | MethodType):
        function = type(function).__call__
    owner = getattr(function, "__self__", module)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if module is not None and _is_torch(module):
        walk.module(module, "", list(values.values()), {})
        return walk.found
    if owner is not None:
        values = {
            argument_uses.get_first_parameter(plain): argument_uses.Live(owner),
            **values,
        }
    try:
        for name, parameter in inspect.signature(plain).parameters.items():
            if name not in values and parameter.default is not parameter.empty:
                values[name] = argument_uses.Live(parameter.default)
    except (TypeError, ValueError):
        pass
    walk.function(function, values)
    return walk.found


def _is_torch(module: Any) -> bool:
    return type(module).__module__.startswith("torch.nn.")
