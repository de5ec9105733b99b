"""Sizes on the command line without a dtype: `-i 2,1,28,28`, `-i "(2, 1, 28, 28)"`.

They are plain integers, and stay so wherever the program takes integers. Otherwise they
are the sizes of a float32 tensor, as in torchinfo's `input_size`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from shapewright.inputs.call_mistakes import (
    is_further_with_tensors,
    is_sizes,
    is_tensor_parameter,
)
from shapewright.inputs.callables import Loaded, bind_inputs, find_parameters
from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import Spec, parse_spec

READING = "sizes without a dtype are a float32 tensor"
"""The reason that is given for inputs that were read as a tensor."""

_INTEGERS = ("int", "tuple", "list", "Size", "Sequence", "Iterable", "Any")


def find_meant_tensor(loaded: Loaded, spec: Spec) -> Spec | None:
    """Return the float32 tensor that a spec of nothing but integers means, or None if
    the target takes the integers.

    Example: ``2, 1, 28, 28`` for a ``forward(self, x)`` is ``f32[2, 1, 28, 28]``. The
    integers are taken if an annotation says so, or if the program runs no further with
    the tensor. The program must be running (``with loaded.program.running()``).
    """
    sizes = _get_bare_sizes(spec)
    if sizes is None:
        return None
    parameters = list((find_parameters(loaded) or {}).values())
    if not parameters or _is_annotated(parameters[0]):
        return None
    tensor = parse_spec(f"f32[{', '.join(map(str, sizes))}]")
    if not _is_bound(loaded, tensor):
        return None
    meant = (
        not _is_bound(loaded, spec)
        or is_tensor_parameter(loaded.callable, 0)
        or is_further_with_tensors(loaded.callable, spec.args)
    )
    return tensor if meant else None


def _get_bare_sizes(spec: Spec) -> Sequence[int] | None:
    """Return the integers of a spec that has nothing else."""
    args = spec.args[0] if len(spec.args) == 1 else spec.args
    args = (args,) if type(args) is int else args
    if spec.kwargs or not is_sizes(args) or not all(type(size) is int for size in args):
        return None
    return tuple(args)


def _is_annotated(parameter: inspect.Parameter) -> bool:
    """Return whether an annotation says that a parameter takes integers."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return False
    text = (
        annotation
        if isinstance(annotation, str)
        else inspect.formatannotation(annotation)
    )
    return any(word in text for word in _INTEGERS)


def _is_bound(loaded: Loaded, spec: Spec) -> bool:
    try:
        bind_inputs(loaded, spec)
    except InputError:
        return False
    return True
