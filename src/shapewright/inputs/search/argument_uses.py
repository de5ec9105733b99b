"""Find how a program uses its arguments, from its source; nothing is run.

Names are followed through assignments, methods of the same object, and the modules that
are called; a value that is neither an argument nor a moved argument is dropped.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import Any

from shapewright.program.source_text import get_function_text

Moves = tuple[tuple[Any, ...], ...] | None
"""Moves of an argument's dims, in order: ``(("transpose", 1, 2),)``.
None if they are unknown."""


@dataclass(frozen=True, slots=True)
class ReachedLayer:
    """A layer that an argument reaches, and how the argument's dims were moved before.

    `place` is which of the layer's inputs it is: "0", "1", "key_padding_mask".
    """

    path: str
    layer: Any
    moves: Moves
    place: str = "0"


@dataclass(frozen=True, slots=True)
class ModelOperand:
    """A tensor of the model that is combined with an argument."""

    how: str
    shape: tuple[int, ...]
    moves: Moves


@dataclass(slots=True)
class Uses:
    """The uses of an argument, or of a part of it.

    `high`: integers lie below it. `joined`: it is passed to `torch.cat` or `stack`
    whole. `peers` are the paths of arguments that it is added to or compared with.
    """

    layers: list[ReachedLayer] = field(default_factory=list)
    beside: list[ModelOperand] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    whole: bool = False
    boolean: bool = False
    complex: bool = False
    high: int | None = None
    keys: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)
    parts: int = 0
    iterated: bool = False
    joined: bool = False
    number: bool = False
    lengths: bool = False
    flag: bool = False
    optional: bool = False
    tensor: bool = False
    peers: list[tuple[str | int, ...]] = field(default_factory=list)

    @property
    def used(self) -> bool:
        """Return whether any use is known."""
        return bool(
            self.layers or self.beside or self.ranks or self.whole or self.boolean
            or self.keys or self.parts or self.iterated or self.joined or self.number
            or self.lengths
        )  # fmt: skip

    def below(self, count: int) -> None:
        """Note that the argument indexes `count` items."""
        self.whole = True
        self.high = count if self.high is None else min(self.high, count)


def undo_moves(dims: tuple[Any, ...], moves: Moves) -> tuple[Any, ...] | None:
    """Return the dims before some moves, given the dims after them.

    Example: ``("B", 20, "T")`` after ``transpose(1, 2)`` was ``("B", "T", 20)``.
    """
    if moves is None:
        return None
    undone = list(dims)
    try:
        for name, *places in reversed(moves):
            if name == "transpose":
                dim, other_dim = places
                undone[dim], undone[other_dim] = undone[other_dim], undone[dim]
            elif name == "permute":
                if len(places) != len(undone):
                    return None
                before = list(undone)
                for at, place in enumerate(places):
                    before[place] = undone[at]
                undone = before
            elif name == "unsqueeze":
                at = places[0]
                del undone[at]
            elif name == "squeeze":
                at = places[0]
                undone.insert(at if at >= 0 else len(undone) + 1 + at, 1)
            elif name == "item":
                undone.insert(places[0], None)
    except IndexError:
        return None
    return tuple(undone)


MOST_STEPS = 4000
"""Maximum number of expressions to read."""
DEEPEST = 12
"""Maximum depth of nested calls to follow."""


@dataclass(frozen=True, slots=True)
class Given:
    """An argument, or a part of an argument."""

    path: tuple[str | int, ...]
    moves: Moves = ()

    def moved(self, *step: Any) -> Given:
        return Given(self.path, None if self.moves is None else (*self.moves, step))

    def changed(self) -> Given:
        return Given(self.path, None)


@dataclass(frozen=True, slots=True)
class Live:
    """A live object of the program."""

    value: Any
    path: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of an argument."""

    of: Given


@dataclass(frozen=True, slots=True)
class Method:
    """A method of an argument that is about to be called."""

    of: Given
    name: str


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or list that the program creates."""

    items: tuple[Any, ...]


Value = Given | Live | Shape | Method | Several | None
Names = dict[str, Value]
Function = ast.FunctionDef | ast.Lambda
BodyReader = Callable[["Walk", Any, Function, Names, str], Value]


@dataclass(slots=True)
class Walk:
    """A single reading of the source; `found` holds the uses of each argument path.

    `read_body` reads the statements of one function and returns what it returns.
    """

    read_body: BodyReader
    found: dict[tuple[str | int, ...], Uses] = field(default_factory=dict)
    steps: int = 0
    inside: list[Any] = field(default_factory=list)

    def uses(self, argument: Given | tuple[str | int, ...]) -> Uses:
        path = argument.path if isinstance(argument, Given) else argument
        return self.found.setdefault(path, Uses())

    # -- functions --------------------------------------------------------------

    def function(self, called: Any, values: Names, path: str = "") -> Value:
        """Read the body of a function with these values for its parameters."""
        function = getattr(called, "__func__", called)
        function = inspect.unwrap(function)
        if len(self.inside) >= DEEPEST or function in self.inside:
            return None
        node = _parse_source(function)
        if node is None:
            return None
        self.inside.append(function)
        try:
            names = {**_get_closure(function), **values}
            return self.read_body(self, function, node, names, path)
        finally:
            self.inside.pop()

    def bound(self, called: Any, args: list[Value], kwargs: Names) -> Names | None:
        """Return the parameters of a function with the values that a call passes."""
        try:
            signature = inspect.signature(inspect.unwrap(called))
            bound = signature.bind_partial(*args, **kwargs)
        except (TypeError, ValueError):
            return None
        names: Names = {}
        for name, parameter in signature.parameters.items():
            if name not in bound.arguments:
                if parameter.default is not parameter.empty:
                    names[name] = Live(parameter.default)
                continue
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                value = Several(tuple(value))
            elif parameter.kind is parameter.VAR_KEYWORD:
                value = None
            names[name] = value
        return names

    # -- modules ----------------------------------------------------------------

    def module(self, layer: Any, path: str, args: list[Value], kwargs: Names) -> Value:
        """Read the call of a module."""
        from torch import nn

        if isinstance(layer, nn.Sequential):
            value = args[0] if args else None
            for name, child in layer._modules.items():
                value = self.module(child, f"{path}.{name}", [value], {})
            return value
        if type(layer).__module__.startswith("torch.nn."):
            return self.layer(layer, path, args, kwargs)
        names = self.bound(layer.forward, args, kwargs)
        if names is None:
            return None
        forward = layer.forward
        owner = Live(getattr(forward, "__self__", layer), path)
        first = get_first_parameter(
            inspect.unwrap(getattr(forward, "__func__", forward))
        )
        return self.function(forward, {first: owner, **names}, path)

    def layer(self, layer: Any, path: str, args: list[Value], kwargs: Names) -> Value:
        """Read the call of a layer of torch's own."""
        values = [*args, *kwargs.values()]
        places = [*map(str, range(len(args))), *kwargs]
        for place, value in zip(places, values, strict=True):
            if isinstance(value, Given):
                self.uses(value).tensor = True
                met = ReachedLayer(path.lstrip("."), layer, value.moves, place)
                self.uses(value).layers.append(met)
        name = type(layer).__name__
        if name in ("Embedding", "EmbeddingBag") and values:
            if isinstance(values[0], Given):
                self.uses(values[0]).below(layer.num_embeddings)
            return None
        first = values[0] if values else None
        same = isinstance(first, Given) and _has_same_shape(layer)
        return first if same else None


def _has_same_shape(layer: Any) -> bool:
    """Return whether the output of a layer has the shape of its input."""
    from torch import nn

    kinds = (nn.LayerNorm, nn.Dropout, nn.Identity, nn.modules.batchnorm._NormBase)
    if isinstance(layer, kinds):
        return True
    return type(layer).__module__.endswith((".activation", ".dropout")) and (
        type(layer).__name__ not in ("MultiheadAttention", "GLU")
    )


def _parse_source(function: Any) -> Function | None:
    """Return the syntax tree of a function, or None if it has no source."""
    if not isinstance(function, FunctionType):
        return None
    if function.__module__ and function.__module__.split(".")[0] == "torch":
        return None
    text = get_function_text(function)
    for node in text.nodes if text is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node
        if isinstance(node, ast.Lambda) and function.__name__ == "<lambda>":
            return node
    return None


def _get_closure(function: Any) -> Names:
    cells = function.__closure__ or ()
    closure: Names = {}
    for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
        try:
            closure[name] = Live(cell.cell_contents)
        except ValueError:
            continue
    return closure


def get_first_parameter(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return code.co_varnames[0] if code and code.co_varnames else "self"


def get_member(value: Any, name: str) -> Any:
    """Return an attribute without running properties, or raise `LookupError`."""
    for place in ("_modules", "_parameters", "_buffers"):
        held = getattr(value, "__dict__", {}).get(place)
        if isinstance(held, dict) and name in held:
            return held[name]
    if isinstance(value, ModuleType):
        if name in vars(value):
            return vars(value)[name]
        raise LookupError(name)
    try:
        member = inspect.getattr_static(value, name)
    except AttributeError:
        raise LookupError(name) from None
    if isinstance(member, staticmethod):
        return member.__func__
    if isinstance(member, FunctionType) and not isinstance(value, type):
        return MethodType(member, value)
    if isinstance(member, property | classmethod):
        raise LookupError(name)
    return member


def iter_members(value: Any) -> Iterator[Any]:
    """Yield the members of a list, tuple or module container."""
    if isinstance(value, list | tuple):
        yield from value
    elif hasattr(value, "_modules"):
        yield from value._modules.values()


def find_builtin(name: str) -> Any:
    """Return the Python builtin of this name, or None."""
    return getattr(builtins, name, None)


def get_shape(value: Value) -> tuple[int, ...] | None:
    """Return the shape of a tensor of the model; None for other values."""
    import torch

    if isinstance(value, Live) and isinstance(value.value, torch.Tensor):
        with suppress(RuntimeError, ValueError):  # a lazy one has none yet
            return tuple(value.value.shape)
    return None
