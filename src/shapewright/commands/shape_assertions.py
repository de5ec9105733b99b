"""`assert_shapes`: a model's inputs and outputs as one line of a test."""

from __future__ import annotations

from typing import Any

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import parse_spec
from shapewright.inputs.spec_syntax import TensorSpec
from shapewright.record.ops import Fact, collect_leaves
from shapewright.record.trace import Trace

ARROW = "->"


def split_spec(text: str) -> tuple[str, str]:
    """Return the inputs and the outputs of ``"f32[B, 3] -> f32[B, 10]"``."""
    into, arrow, out = text.partition(ARROW)
    if not arrow or not out.strip() or ARROW in out:
        raise InputError(
            "write inputs and outputs, as in `f32[B, 3, 224, 224] -> f32[B, 1000]`"
        )
    return into.strip(), out.strip()


def check_outputs(trace: Trace, into: str, text: str) -> None:
    """Raise `AssertionError` if a trace did not return what a spec of outputs says.

    `into` is the spec of the inputs; its letters without a size are those to follow.
    """
    if not trace.complete:
        message = trace.findings[-1].message if trace.findings else "it did not end"
        place = trace.findings[-1].span if trace.findings else None
        where = f" at {place}" if place is not None else ""
        raise AssertionError(f"{trace.target} does not run: {message}{where}")
    wanted = parse_spec(text)
    sizes = {
        name: size for name, size in trace.letters.items() if name in wanted.letters
    }
    free = [name for name in wanted.letters_free if name not in sizes]
    if free:
        raise InputError(
            f"no input has the letter `{free[0]}`", text, text.find(free[0])
        )
    followed = parse_spec(into).letters_free if into else ()
    expected = wanted.with_sizes(**sizes).leaves
    returned = collect_leaves(trace.output)
    if len(returned) != len(expected):
        raise AssertionError(
            f"{trace.target} returns {len(returned)} tensors, not {len(expected)}: "
            f"{', '.join(map(str, returned))}"
        )
    wrong = [
        f"output {place} is {fact}, not {spec}"
        for place, (fact, spec) in enumerate(zip(returned, expected, strict=True))
        if not _is_as_stated(fact, spec, followed)
    ]
    if wrong:
        raise AssertionError(f"{trace.target}: {'; '.join(wrong)}")


def _is_as_stated(fact: Fact, spec: TensorSpec, free: tuple[str, ...]) -> bool:
    """Return whether a tensor has the shape and the dtype of a spec, letters included.

    Where a letter has no size, the size has to follow it, not only to equal it.
    """
    if tuple(fact.shape) != tuple(spec.shape) or fact.dtype != spec.dtype:
        return False
    letters: tuple[Any, ...] = spec.letters or (None,) * len(spec.shape)
    for size, letter in zip(fact.shape, letters, strict=True):
        formula = getattr(size, "formula", None)
        if letter in free and (formula is None or str(formula) != letter):
            return False
    return True
