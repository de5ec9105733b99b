"""Values of what the user says: tensors, arrays and answers of packages."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.inputs.spec import Spec, materialize_spec
from shapewright.inputs.spec_syntax import TensorSpec
from shapewright.inputs.stand_ins import Assumed, Value
from shapewright.runtime.absent.telling import Tell
from shapewright.runtime.absent.unknown import NOTHING

FIRST = "B"
"""The letter that, where nothing binds it, is the first size of the first tensor."""


def make_values(spec: Spec, turn: int = 0) -> Any:
    """Return the tensors of a spec; letters differ from turn to turn.

    One value stands for itself; several are a tuple.
    """
    sizes = {name: max(1, spec.letters[name] + turn % 3) for name in spec.letters_free}
    fitting = spec.with_sizes(**sizes) if sizes else spec
    args, named = materialize_spec(fitting, _make_tensor)
    if named:
        return dict(named)
    return args[0] if len(args) == 1 else args


def _make_tensor(leaf: TensorSpec) -> Any:
    dtype = getattr(torch, leaf.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(leaf.shape).to(dtype)
    return torch.zeros(leaf.shape, dtype=dtype)


def make_array(spec: Spec) -> Any:
    """Return the arrays of a spec, of zeros that are never touched."""
    import numpy

    def make(leaf: TensorSpec) -> Any:
        return numpy.zeros(leaf.shape, leaf.dtype)

    args, named = materialize_spec(spec, make)
    if named:
        return dict(named)
    return args[0] if len(args) == 1 else args


class Answers:
    """What the user says of the names of packages."""

    def __init__(self, assumed: tuple[Assumed, ...], tell: Tell) -> None:
        self.assumed, self.tell = assumed, tell

    def __call__(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a name gives, or `NOTHING`."""
        name, called = path.removesuffix("()"), path.endswith("()")
        for each in self.assumed:
            if each.called != called or not _is_same_name(each.name, name):
                continue
            self.tell(f"`{name}`", f"`{each.text}`", "given")
            if isinstance(each.holds, Value):
                return each.holds.value
            return _make_answer(each.holds, (*args, *kwargs.values()))
        return NOTHING


def _is_same_name(said: str, name: str) -> bool:
    """Return whether a name of the user's is that of a value: whole, or its end."""
    plain = name.replace("(...)", "")
    return plain == said or plain.endswith(f".{said}")


def _make_answer(spec: Spec, given: tuple[Any, ...]) -> Any:
    """Return the tensors of an answer, its free letters bound to the arguments.

    ``B`` is the first size of the first tensor, as are the other letters where they
    are alone; with several, each further one is the next size.
    """
    first = next((each for each in given if isinstance(each, torch.Tensor)), None)
    sizes: dict[str, int] = {}
    if first is not None:
        names = list(spec.letters_free)
        if FIRST in names:
            names.remove(FIRST)
            names.insert(0, FIRST)
        sizes = dict(zip(names, first.shape, strict=False))
    fitting = spec.with_sizes(**sizes) if sizes else spec
    args, named = materialize_spec(fitting, _make_tensor)
    made = dict(named) if named else args[0] if len(args) == 1 else args
    if first is not None and isinstance(made, torch.Tensor):
        made = made.to(first.device)
    return made
