"""Test whether two pieces of a program compute the same, on small real tensors.

Nothing of the user's text is evaluated but loops over ranges and tensors, reads and
writes of elements, arithmetic, and functions of a list.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch

from shapewright.engine.identity import DTYPES
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import COMPARISONS, OPERATORS, evaluate_node
from shapewright.program.syntax_nodes import get_dotted_name

Tensor = torch.Tensor
Names = dict[str, Any]
ROUNDS = 20_000
"""Statements of a loop that are run at most."""


class _NotRun(Exception):
    """Raised for code that the interpreter does not run."""


_OPERATORS = {**OPERATORS, **COMPARISONS}
IN_PLACE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
}
METHODS = operators_with("computes_each_element", "replaces_loops")
"""Methods and functions of tensors that may be called."""

READ = frozenset({"T", "mT", "shape", "dtype", "device"})
PLAIN: dict[str, Callable[..., Any]] = {
    "range": range, "len": len, "enumerate": enumerate, "zip": zip, "int": int,
}  # fmt: skip
SPACES = {
    "torch": torch, "F": torch.nn.functional,
    "torch.nn.functional": torch.nn.functional,
}  # fmt: skip


class _Interpreter:
    """An interpreter that runs statements on `names`, which it changes."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.rounds = 0

    def run(self, stmts: Iterable[ast.stmt]) -> None:
        """Run statements in order."""
        for stmt in stmts:
            self.rounds += 1
            if self.rounds > ROUNDS:
                raise _NotRun("it takes too long")
            self.statement(stmt)

    def statement(self, stmt: ast.stmt) -> None:
        """Run one statement."""
        if isinstance(stmt, ast.For):
            for value in self.value(stmt.iter):
                self.store(stmt.target, value)
                self.run(stmt.body)
        elif isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            self.store(stmt.targets[0], self.value(stmt.value))
        elif isinstance(stmt, ast.AugAssign):
            before = self.value(stmt.target)
            after = IN_PLACE[type(stmt.op)](before, self.value(stmt.value))
            self.store(stmt.target, after)
        elif isinstance(stmt, ast.If):
            self.run(stmt.body if self.value(stmt.test) else stmt.orelse)
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            call = stmt.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
                items = self.value(call.func.value)
                if type(items) is not list:
                    raise _NotRun("append")
                items.append(self.value(call.args[0]))
            else:
                self.value(call)
        elif not isinstance(stmt, ast.Pass):
            raise _NotRun(type(stmt).__name__)

    def store(self, target: ast.expr, value: Any) -> None:
        """Write to a name, to several names, or to an element."""
        if isinstance(target, ast.Tuple):
            for part, item in zip(target.elts, value, strict=True):
                self.store(part, item)
        elif isinstance(target, ast.Subscript):
            held = self.value(target.value)
            if not isinstance(held, Tensor):
                raise _NotRun("a write to no tensor")
            held[self.index(target.slice)] = value
        elif name := get_dotted_name(target):
            self.names[name] = value
        else:
            raise _NotRun("a target")

    def index(self, node: ast.expr) -> Any:
        """Return the value of an index in brackets."""
        if isinstance(node, ast.Tuple):
            return tuple([self.index(item) for item in node.elts])
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            return slice(*(None if end is None else self.value(end) for end in ends))
        return self.value(node)

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        return evaluate_node(node, self.read, _OPERATORS)

    def read(self, node: ast.expr) -> Any:
        """Return the value of a name, an attribute, an item or a call."""
        name = get_dotted_name(node)
        if name in self.names:
            return self.names[name]
        if isinstance(node, ast.Attribute) and node.attr in READ:
            held = self.value(node.value)
            if isinstance(held, Tensor):
                return getattr(held, node.attr)
        if isinstance(node, ast.Subscript):
            return self.value(node.value)[self.index(node.slice)]
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self.value(node.test) else node.orelse)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self.comprehension(node)
        if isinstance(node, ast.Call):
            return self.called(node)
        raise _NotRun(type(node).__name__)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        """Return the value of a comprehension: `[x[i] + b for i in range(n)]`."""
        (generator,) = node.generators
        if generator.ifs:
            raise _NotRun("a condition")
        items = []
        for value in self.value(generator.iter):
            self.store(generator.target, value)
            items.append(self.value(node.elt))
        return items

    def called(self, node: ast.Call) -> Any:
        """Call a function or method of the lists above."""
        args = [self.value(arg) for arg in node.args]
        keywords = {str(key.arg): self.value(key.value) for key in node.keywords}
        name = get_dotted_name(node.func)
        if name in PLAIN and name not in self.names:
            return PLAIN[name](*args)
        space, _, last = name.rpartition(".")
        if space in SPACES and last in METHODS:
            return getattr(SPACES[space], last)(*args, **keywords)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            held = self.value(node.func.value)
            if isinstance(held, Tensor):
                return getattr(held, node.func.attr)(*args, **keywords)
        raise _NotRun(name)


def _interpret_statements(stmts: Iterable[ast.stmt], names: Mapping[str, Any]) -> Names:
    """Run statements on copies of the tensors, and return the values of all names."""
    own = {
        name: value.clone() if isinstance(value, Tensor) else value
        for name, value in names.items()
    }
    _Interpreter(own).run(stmts)
    return own


class _Made(Protocol):
    """The description of a tensor to be made up."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def high(self) -> int: ...
    @property
    def zeros(self) -> bool: ...
    @property
    def distinct(self) -> int | None: ...


class _Experiment(Protocol):
    """Two pieces of a program, and the values on which they run."""

    @property
    def loop(self) -> tuple[ast.stmt, ...]: ...
    @property
    def instead(self) -> tuple[ast.stmt, ...]: ...
    @property
    def tensors(self) -> Mapping[str, _Made]: ...
    @property
    def numbers(self) -> Mapping[str, Any]: ...
    @property
    def targets(self) -> tuple[str, ...]: ...


def is_same(experiment: _Experiment, tries: int = 2) -> bool:
    """Return whether both pieces compute equal tensors, with new values in each try.

    The program's own random numbers are restored afterwards.
    """
    with torch.random.fork_rng([]), torch.no_grad(), torch.device("cpu"):
        return all(_is_same_once(experiment, seed) for seed in range(tries))


def _is_same_once(experiment: _Experiment, seed: int) -> bool:
    """Return whether both pieces compute equal tensors with the values of one seed."""
    torch.manual_seed(seed)
    names: dict[str, Any] = {
        key: _make_values(t) for key, t in experiment.tensors.items()
    }
    names |= experiment.numbers
    try:
        before = _interpret_statements(experiment.loop, names)
        after = _interpret_statements(experiment.instead, names)
    except (_NotRun, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
        return False
    return all(_is_equal(before[key], after[key]) for key in experiment.targets)


def _make_values(recipe: _Made) -> Tensor:
    """Return a tensor with random values, or with the values that it requires."""
    dtype, shape = DTYPES[recipe.dtype], recipe.shape
    if recipe.zeros:
        return torch.zeros(shape, dtype=dtype)
    if recipe.distinct is not None:
        return torch.rand(shape).argsort(recipe.distinct).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0, max(recipe.high, 1), shape).to(dtype)


def _is_equal(left: Any, right: Any) -> bool:
    """Return whether two tensors have equal shapes, dtypes and (rounded) values."""
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        return type(left) is type(right) and bool(left == right)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    coarse = left.dtype.itemsize < 4 and left.is_floating_point()
    rtol = 0.05 if coarse else 1e-4
    return torch.allclose(left, right, rtol=rtol, atol=rtol, equal_nan=True)
