"""Traces whose sizes have formulas, of targets and of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.solving.feeding import Feeding, of_arguments, of_spec
from shapewright.solving.formulas import with_formulas
from shapewright.solving.running import Runner
from shapewright.trace.record import Trace
from shapewright.tracing import run_once

if TYPE_CHECKING:
    from shapewright.inputs.loaded import Loaded


def run_lettered(loaded: Loaded, given: Any, settings: Any) -> Trace:
    """A target on a spec; with formulas where the spec has letters without a size."""
    if not given.letters_free:
        return run_once(loaded, given, settings)
    return formulas_of(loaded.callable, of_spec(given), settings)


def traced(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    settings: Any,
    freed: bool = False,
) -> Trace:
    """A model on the arguments of a call, specs among them.

    With `freed`, letters that have a size are varied as well.
    """
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.runtime.run import record

    feeding = of_arguments(args, kwargs)
    if freed:
        feeding = feeding.freed()
    if feeding.free:
        return formulas_of(target, feeding, settings)
    fed_args, fed_kwargs = feeding.arguments({})
    settings.letters = dict(feeding.letters)
    made = record(target, fed_args, fed_kwargs, settings)
    if not made.complete:
        refuse_sizes("formulas" if freed else "trace", target, fed_args, fed_kwargs)
    return made


def formulas_of(target: Callable[..., Any], feeding: Feeding, settings: Any) -> Trace:
    """The trace at usual sizes, each size with its formula."""
    first: list[Any] = []

    def another() -> Any:
        made = replace(settings)
        first.append(made)
        return made

    trace = with_formulas(Runner(target, feeding, another))
    settings.stepped = first[0].stepped
    return trace
