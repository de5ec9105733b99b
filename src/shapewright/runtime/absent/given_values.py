"""Values of what the user says: tensors, arrays and answers of packages."""

from __future__ import annotations

from typing import Any

import torch

from shapewright.runtime.absent.settings import (
    GivenAnswer,
    GivenTensors,
    PlainValue,
)
from shapewright.runtime.absent.tellers import Tell
from shapewright.runtime.absent.unknown_values import NOTHING

FIRST = "B"
"""The letter that, where nothing binds it, is the first size of the first tensor."""


def make_values(holds: GivenTensors, turn: int = 0) -> Any:
    """Return the tensors of a spec; letters differ from turn to turn."""
    sizes = {name: max(1, size + turn % 3) for name, size in holds.letters.items()}
    return holds.build(_make_tensor, sizes)


def _make_tensor(shape: tuple[int, ...], name: str) -> Any:
    dtype = getattr(torch, name)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape).to(dtype)
    return torch.zeros(shape, dtype=dtype)


def make_array(holds: GivenTensors) -> Any:
    """Return the arrays of a spec, of zeros that are never touched."""
    import numpy

    return holds.build(numpy.zeros, holds.letters)


class Answers:
    """What the user says of the names of packages."""

    def __init__(self, answers: tuple[GivenAnswer, ...], tell: Tell) -> None:
        self.answers, self.tell = answers, tell

    def __call__(self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a name gives, or `NOTHING`."""
        name, called = path.removesuffix("()"), path.endswith("()")
        for answer in self.answers:
            if answer.called != called or not _is_same_name(answer.name, name):
                continue
            self.tell(f"`{name}`", f"`{answer.text}`", "given")
            if isinstance(answer.holds, PlainValue):
                return answer.holds.value
            return _make_answer(answer.holds, (*args, *kwargs.values()))
        return NOTHING


def _is_same_name(stated_name: str, name: str) -> bool:
    """Return whether a name of the user's is that of a value: whole, or its end."""
    plain = name.replace("(...)", "")
    return plain == stated_name or plain.endswith(f".{stated_name}")


def _make_answer(holds: GivenTensors, arguments: tuple[Any, ...]) -> Any:
    """Return the tensors of an answer, its free letters bound to the arguments.

    ``B`` is the first size of the first tensor; the other letters are its next sizes,
    in their order.
    """
    first = next(
        (argument for argument in arguments if isinstance(argument, torch.Tensor)), None
    )
    sizes: dict[str, int] = {}
    if first is not None:
        names = sorted(holds.letters, key=lambda name: name != FIRST)
        sizes = dict(zip(names, first.shape, strict=False))
    answer = holds.build(_make_tensor, sizes)
    if first is not None and isinstance(answer, torch.Tensor):
        answer = answer.to(first.device)
    return answer
