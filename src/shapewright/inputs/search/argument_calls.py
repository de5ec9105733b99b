"""Learn about arguments from the calls that they are passed to."""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any

from shapewright.inputs.search import argument_uses
from shapewright.inputs.search.argument_uses import ModelOperand
from shapewright.operators.facts import operators_with

OF_INTEGERS = operators_with("takes_integers")
REGROUPS = operators_with("regroups_dims") | {"narrow"}
MASKED = operators_with("takes_mask")
INDEXED = operators_with("indexes_along_dim")
SAME = operators_with("keeps_shape")
"""Functions and methods whose result has the shape of the first argument."""
WHOLE = frozenset({"long", "int"})
MOVES = operators_with("moves_dims")
ELEMENTWISE = operators_with("pairs_operands")
JOINS = operators_with("joins_tensors")
LAYERS = operators_with("is_convolution")


def learn_from_method(
    walk: argument_uses.Walk,
    method: argument_uses.Method,
    args: list[argument_uses.Value],
    kwargs: argument_uses.Names,
) -> argument_uses.Value:
    """Learn from a method call, like `x.transpose(1, 2)` or `batch.get("key")`."""
    tensor, name = method.of, method.name
    uses = walk.uses(tensor)
    if name in ("get", "pop") and args and _get_text(args[0]) is not None:
        key = _get_text(args[0])
        assert key is not None
        if name == "get" and len(args) > 1:
            return None  # it can be left out
        uses.keys[key] = None
        return argument_uses.Given((*tensor.path, key))
    if name in ("items", "keys", "values"):
        uses.attributes[name] = None
        return None
    uses.tensor = True
    if name == "size":
        return argument_uses.Shape(tensor) if not args else None
    return _learn_of_tensor(walk, name, [tensor, *args], kwargs)


def learn_from_function(
    walk: argument_uses.Walk,
    called: argument_uses.Live,
    args: list[argument_uses.Value],
    kwargs: argument_uses.Names,
) -> argument_uses.Value:
    """Learn from the call of a module, a function of the program or of torch."""
    value = called.value
    if hasattr(value, "_modules") and hasattr(value, "forward"):
        return walk.module(value, called.path, args, kwargs)
    name = getattr(value, "__name__", "")
    if value in (len, print, isinstance, type, getattr, hasattr):
        return None
    if value is range or value in (int, float, bool):
        for operand in args:
            if isinstance(operand, argument_uses.Given):
                walk.uses(operand).number = True
        return None
    if value is zip:
        iterated = [
            argument for argument in args if isinstance(argument, argument_uses.Given)
        ]
        for operand in iterated:
            walk.uses(operand).iterated = True
        firsts = tuple(_take_first(argument) for argument in args)
        return argument_uses.Several((argument_uses.Several(firsts),))
    if value in (list, tuple, enumerate, reversed, sorted) and args:
        first = args[0]
        if value is enumerate:
            return argument_uses.Several(
                (argument_uses.Several((None, _take_item(walk, first))),)
            )
        return first
    if isinstance(value, MethodType) and not _is_of_torch(value.__func__):
        names = walk.bound(value, args, kwargs)
        if names is None:
            return None
        own = argument_uses.get_first_parameter(value.__func__)
        path = called.path.rpartition(".")[0]
        return walk.function(
            value, {own: argument_uses.Live(value.__self__, path), **names}
        )
    if isinstance(value, FunctionType) and not _is_of_torch(value):
        names = walk.bound(value, args, kwargs)
        return walk.function(value, names) if names is not None else None
    if name:
        return _learn_of_tensor(walk, name, args, kwargs)
    return None


def _take_first(value: argument_uses.Value) -> argument_uses.Value:
    if isinstance(value, argument_uses.Given):
        return argument_uses.Given((*value.path, 0))
    if isinstance(value, argument_uses.Several) and value.items:
        first: argument_uses.Value = value.items[0]
        return first
    if isinstance(value, argument_uses.Live):
        found_first = next(argument_uses.iter_members(value.value), None)
        if found_first is not None:
            return argument_uses.Live(found_first, f"{value.path}.0")
    return None


def _take_item(
    walk: argument_uses.Walk, value: argument_uses.Value
) -> argument_uses.Value:
    if isinstance(value, argument_uses.Given):
        walk.uses(value).iterated = True
    return _take_first(value)


def _is_of_torch(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").split(".")[0] == "torch"


def _learn_of_tensor(
    walk: argument_uses.Walk,
    name: str,
    args: list[argument_uses.Value],
    kwargs: argument_uses.Names,
) -> argument_uses.Value:
    """Learn from a torch function by its name, or from the method of the same name."""
    if not args and kwargs:
        args = [kwargs.get("input")]
    first = args[0] if args else None
    for other in args[1:]:
        _learn_of_second(walk, name, first, other)
    if name in JOINS:
        if isinstance(first, argument_uses.Given):
            walk.uses(first).joined = True
        return None
    if not isinstance(first, argument_uses.Given):
        return _learn_of_others(walk, name, args, kwargs)
    uses = walk.uses(first)
    uses.tensor = True
    if name in MOVES:
        return _move_dims(first, name, args[1:])
    if name in OF_INTEGERS:
        uses.whole = True
        if name == "embedding" and len(args) > 1:
            shape = argument_uses.get_shape(args[1])
            if shape:
                uses.below(shape[0])
        if (
            name == "one_hot"
            and len(args) > 1
            and isinstance(args[1], argument_uses.Live)
        ):
            with suppress(TypeError):
                uses.below(int(args[1].value))
        return None
    if name in WHOLE:
        uses.whole = name != "int" and True
        return first
    if name == "bool":
        uses.boolean = True
        return first
    if name in SAME:
        return first
    if (
        name == "linear"
        and len(args) > 1
        and (shape := argument_uses.get_shape(args[1]))
    ):
        uses.beside.append(ModelOperand("linear", shape, first.moves))
        return None
    if name in LAYERS and len(args) > 1 and (shape := argument_uses.get_shape(args[1])):
        uses.beside.append(ModelOperand(name, shape, first.moves))
        return None
    if (
        name in ("matmul", "mm")
        and len(args) > 1
        and (shape := argument_uses.get_shape(args[1]))
    ):
        uses.beside.append(ModelOperand("@", shape, first.moves))
        return None
    if name in ("bmm",):
        _note_rank(walk, first, 3)
        return None
    if name in REGROUPS:
        return first.changed()
    if name == "item":
        uses.number = True
        return None
    if name in ("tolist", "tensor_split"):
        return None
    return None


def _learn_of_others(
    walk: argument_uses.Walk,
    name: str,
    args: list[argument_uses.Value],
    kwargs: argument_uses.Names,
) -> argument_uses.Value:
    """Learn about the arguments after the first of a torch function."""
    second = args[1] if len(args) > 1 else None
    if name == "embedding" and isinstance(second, argument_uses.Given):
        walk.uses(second).whole = True
    if name == "index_select" and isinstance(args[-1], argument_uses.Given):
        walk.uses(args[-1]).whole = True
    return None


def _learn_of_second(
    walk: argument_uses.Walk,
    name: str,
    first: argument_uses.Value,
    other: argument_uses.Value,
) -> None:
    """Learn about the second argument of a torch function."""
    if not isinstance(other, argument_uses.Given):
        return
    uses = walk.uses(other)
    if name in MASKED:
        uses.boolean = uses.tensor = True
    elif name in ("cross_entropy", "nll_loss") or name in INDEXED:
        uses.whole = uses.tensor = True
    elif name == "pack_padded_sequence":
        uses.lengths = True
    elif name in ELEMENTWISE and isinstance(first, argument_uses.Given):
        uses.peers.append(first.path)
        walk.uses(first).peers.append(other.path)


def _note_rank(
    walk: argument_uses.Walk, argument: argument_uses.Given, rank: int
) -> None:
    if argument.moves == ():
        walk.uses(argument).ranks.append(rank)


def _move_dims(
    tensor: argument_uses.Given, name: str, args: list[argument_uses.Value]
) -> argument_uses.Value:
    """Learn from `x.permute(0, 2, 1)` and similar calls."""
    if len(args) == 1 and isinstance(args[0], argument_uses.Several):
        args = list(args[0].items)
    places = []
    for argument in args:
        if (
            not isinstance(argument, argument_uses.Live)
            or type(argument.value) is not int
        ):
            return tensor.changed()
        places.append(argument.value)
    if name == "squeeze" and not places:
        return tensor.changed()
    return tensor.moved("transpose" if name == "swapaxes" else name, *places)


def _get_text(value: argument_uses.Value) -> str | None:
    known = isinstance(value, argument_uses.Live) and isinstance(value.value, str)
    return value.value if known and isinstance(value, argument_uses.Live) else None
