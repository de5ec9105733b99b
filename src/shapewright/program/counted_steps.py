"""The order of backward passes, steps and clearings in a training, where counts decide
which of them come: gradient accumulation.

A rehearsal leaves out most turns of a loop. What a count decides in those is followed
in the text: whole numbers are computed, all else is not.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shapewright.program.expression_values import (
    COMPARISONS,
    OPERATORS,
    UnknownValue,
    evaluate_node,
)
from shapewright.program.options import iter_entries, iter_options
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
)

MOST_STATEMENTS = 20_000
MOST_EPOCHS = 3
DEEPEST = 4
NUMBERS = {"max": max, "min": min, "round": round, "int": int, "abs": abs}
OTHER_STEPS = ("sched", "ema", "prof", "bar", "progress")
"""In the names of objects whose `step()` is none of an optimizer."""


class _Undecided(Exception):
    """Raised where a step or a clearing depends on what is not known."""


class _LeftTurn(Exception):
    """Raised by `continue`."""


class _LeftLoop(Exception):
    """Raised by `break`."""


class _LeftFunction(Exception):
    """Raised by `return`."""


@dataclass(frozen=True, slots=True)
class _LostGradients:
    """Gradients that are cleared by a call before a step has used them: of how many
    backward passes, the last of which is given.
    """

    clearing: ast.Call
    backward: ast.Call
    passes: int


def find_lost_gradients(
    text: SourceText,
    loop: ast.For,
    batches: int,
    repeats: int,
    *,
    has_defaults: bool = True,
) -> _LostGradients | None:
    """Return the first gradients that are lost in a training, or None if none are or
    it depends on more than counts.

    `loop` is the one over batches, of which there are so many; its function is run
    `repeats` times. `has_defaults` says whether the options of the command line have
    the defaults that the text declares.
    """
    if not any(get_called_name(node) == "step" for node in text.nodes):
        return None  # nothing steps at all, which is another mistake
    function = text.around(loop, *FUNCTIONS, ast.Module)
    follower = _Follower(text, loop, batches, has_defaults)
    for _ in range(repeats):
        follower.keep_attributes()
        try:
            follower.run(getattr(function, "body", []), 0)
        except _LeftFunction:
            continue
        except (_Undecided, _LeftTurn, _LeftLoop):
            return None
        if follower.lost is not None:
            break
    return follower.lost


@dataclass(slots=True)
class _Follower:
    """Follows the statements of a training; `waiting` are passes without a step."""

    text: SourceText
    loop: ast.For
    batches: int
    has_defaults: bool
    values: dict[str, Any] = field(default_factory=dict)
    waiting: list[ast.Call] = field(default_factory=list)
    lost: _LostGradients | None = None
    statements: int = 0

    def run(self, body: Sequence[ast.stmt], depth: int) -> None:
        """Follow some statements."""
        for statement in body:
            self.statements += 1
            if self.statements > MOST_STATEMENTS or depth > DEEPEST:
                raise _Undecided
            if self.lost is None:
                self.follow(statement, depth)

    def keep_attributes(self) -> dict[str, Any]:
        """Forget the names of a function, not the attributes, and return them."""
        names = {key: v for key, v in self.values.items() if "." not in key}
        for key in names:
            del self.values[key]
        return names

    def follow(self, statement: ast.stmt, depth: int) -> None:
        """Follow one statement."""
        match statement:
            case ast.For():
                self.repeat(statement, depth)
            case ast.If():
                self.choose(statement, depth)
            case ast.With(body=body) | ast.Try(body=body):
                self.run(body, depth)
            case ast.While():
                self.forget(statement)
            case ast.Continue():
                raise _LeftTurn
            case ast.Break():
                raise _LeftLoop
            case ast.Return():
                self.call_all(statement, depth)
                raise _LeftFunction
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                self.call_all(statement, depth)
                self.assign(statement)

    def repeat(self, loop: ast.For, depth: int) -> None:
        """Follow a loop: that over batches, one around it, or none of interest."""
        is_own = loop is self.loop
        is_around = any(part is self.loop for part in ast.walk(loop))
        if not is_own and not is_around:
            self.forget(loop)
            return
        for turn in range(self.batches if is_own else MOST_EPOCHS):
            for name in collect_names(loop.target, ast.Store):
                self.values[name] = None
            index = loop.target
            counts = get_called_name(loop.iter) in ("range", "trange")
            if isinstance(index, ast.Tuple) and "enumerate" in ast.unparse(loop.iter):
                index, counts = index.elts[0], True
            if counts and isinstance(index, ast.Name):
                self.values[index.id] = turn + self.find_first(loop.iter)
            try:
                self.run(loop.body, depth)
            except _LeftTurn:
                continue
            except _LeftLoop:
                break

    def find_first(self, node: ast.expr) -> int:
        """Return the number with which a loop begins to count."""
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            name, count = get_called_name(call), len(call.args)
            starts = [word.value for word in call.keywords if word.arg == "start"]
            is_range = name == "range" and count > 1
            if is_range or (name == "enumerate" and count > 1):
                starts.append(call.args[0 if is_range else 1])
            if starts:
                first = self.compute(starts[0])
                if not isinstance(first, int):
                    raise _Undecided
                return first
        return 0

    def choose(self, statement: ast.If, depth: int) -> None:
        """Follow the branch that a condition chooses."""
        test = self.compute(statement.test)
        if test is not None:
            self.run(statement.body if test else statement.orelse, depth)
            return
        for part in ast.walk(statement):
            if isinstance(part, ast.Call) and self.is_event(part):
                raise _Undecided
        self.forget(statement)

    def is_event(self, call: ast.Call) -> bool:
        """Return whether a call, or the function that it calls, trains."""
        name = get_called_name(call)
        functions = [function for _, function in self.text.functions(name)]
        parts = [part for function in functions for part in ast.walk(function)]
        names = {get_called_name(part) for part in parts} | {name}
        return bool(names & {"backward", "step", "zero_grad"})

    def forget(self, node: ast.AST) -> None:
        """Take what a part of the program assigns as unknown."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name | ast.Attribute):
                if isinstance(part.ctx, ast.Store):
                    self.values[get_dotted_name(part)] = None
            elif isinstance(part, ast.Call) and get_called_name(part) == "backward":
                raise _Undecided

    def assign(self, statement: ast.stmt) -> None:
        """Compute what a statement assigns."""
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name in collect_names(target, ast.Store):
                    self.values[name] = None
                if isinstance(target, ast.Name | ast.Attribute):
                    self.values[get_dotted_name(target)] = self.compute(statement.value)
        elif isinstance(statement, ast.AugAssign):
            sum_node = ast.BinOp(statement.target, statement.op, statement.value)
            self.values[get_dotted_name(statement.target)] = self.compute(sum_node)

    def call_all(self, statement: ast.stmt, depth: int) -> None:
        """Follow the calls of a statement."""
        for call in ast.walk(statement):
            if not isinstance(call, ast.Call):
                continue
            name = get_called_name(call)
            owner = get_dotted_name(getattr(call.func, "value", None)).lower()
            functions = [function for _, function in self.text.functions(name)]
            if name == "backward":
                self.waiting.append(call)
            elif name == "zero_grad":
                if self.waiting and self.lost is None:
                    count = len(self.waiting)
                    self.lost = _LostGradients(call, self.waiting[-1], count)
                self.waiting.clear()
            elif functions and owner in ("", "self"):
                if self.is_event(call):
                    self.run_function(functions[0], depth)
            elif functions and name not in ("step", "train") and self.is_event(call):
                raise _Undecided
            elif name == "step" and not any(word in owner for word in OTHER_STEPS):
                self.waiting.clear()

    def run_function(self, function: ast.AST, depth: int) -> None:
        """Follow a function of the program, whose arguments are not known."""
        before = self.keep_attributes()
        try:
            self.run(getattr(function, "body", []), depth + 1)
        except _LeftFunction:
            pass
        self.keep_attributes()
        self.values.update(before)

    def compute(self, node: ast.expr, depth: int = 0) -> Any:
        """Return the number or truth that an expression has, or None."""
        try:
            operators = {**OPERATORS, **COMPARISONS}
            value = evaluate_node(
                node, lambda part: self.look_up(part, depth), operators
            )
        except (UnknownValue, TypeError, ValueError, ZeroDivisionError, OverflowError):
            return None
        return value if isinstance(value, int | float) else None

    def look_up(self, node: ast.expr, depth: int) -> Any:
        """Return the value of a name, a call or a condition in an expression."""
        value: Any = None
        if isinstance(node, ast.BoolOp):
            values = [self.compute(part, depth) for part in node.values]
            if None not in values:
                value = all(values) if isinstance(node.op, ast.And) else any(values)
        elif isinstance(node, ast.Call):
            value = self.look_up_call(node, depth)
        elif isinstance(node, ast.Name | ast.Attribute):
            name = get_dotted_name(node)
            if name in self.values:
                value = self.values[name]
            elif depth < DEEPEST and name:
                defined = self.list_defining(get_last_name(node))
                numbers = {self.compute(part, depth + 1) for part in defined}
                value = numbers.pop() if len(numbers) == 1 else None
        elif isinstance(node, ast.Subscript) and depth < DEEPEST:
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            entries = iter_entries(self.text, key) if isinstance(key, str) else ()
            numbers = {self.compute(part, depth + 1) for part in entries}
            value = numbers.pop() if len(numbers) == 1 else None
        if value is None:
            raise UnknownValue(type(node).__name__)
        return value

    def list_defining(self, name: str) -> list[ast.expr]:
        """Return what a name stands for: what it is assigned, or its default as an
        option of the command line.
        """
        defined = list(find_defining(self.text, name))
        for option in iter_options(self.text) if self.has_defaults else ():
            if option.name == name and option.default is not None:
                defined.append(option.default)
        return defined

    def look_up_call(self, call: ast.Call, depth: int) -> Any:
        """Return the value of `len(loader)` or `max(a, b)`."""
        name = get_called_name(call)
        if name == "len" and len(call.args) == 1:
            loader = ast.unparse(call.args[0])
            iterated = {ast.unparse(part) for part in ast.walk(self.loop.iter)
                        if isinstance(part, ast.expr)}  # fmt: skip
            return self.batches if loader in iterated else None
        numbers: Mapping[str, Any] = NUMBERS
        values = [self.compute(argument, depth) for argument in call.args]
        if name in numbers and isinstance(call.func, ast.Name) and None not in values:
            return numbers[name](*values)
        return None
