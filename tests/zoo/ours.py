"""The same call through Shapewright, as an observation to compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import shapewright as sw
from shapewright.record import Fact, Trace, collect_leaves
from zoo.observe import Observation, Seen, TooSlow, refusal


def traced(call: Callable[..., Any], args: Any, kwargs: Any, **options: Any) -> Trace:
    """One public call: an empty memo, default options unless others are given."""
    return sw.options(**options).trace(call, *args, **kwargs)


def seen(fact: Fact, storages: list[int]) -> Seen:
    """A fact as an output; `storages` are those of the call's inputs, in order."""
    sparse = fact.layout != "strided"
    alias = None
    if not sparse and fact.storage in storages:
        alias = storages.index(fact.storage)
    unknown = fact.unknown is not None
    return Seen(fact.shape, fact.dtype, fact.stride, alias, unknown)


def not_recorded(trace: Trace) -> str:
    """The recorder's own faults that a trace admits; none is expected."""
    return "; ".join(note for note in trace.notes if note.startswith("not recorded"))


def observe_trace(trace: Trace, inputs: list[Fact] | None = None) -> Observation:
    """What a trace says came out; assumptions make it unsure."""
    given = collect_leaves(trace.calls[0].inputs) if trace.calls else []
    storages = [fact.storage for fact in (inputs or given)]
    unsure = "; ".join(assumption.message for assumption in trace.assumptions)
    outputs = tuple(seen(fact, storages) for fact in collect_leaves(trace.output))
    lost = not_recorded(trace)
    if lost:
        return Observation(error="not-recorded", message=lost)
    stopped = [finding for finding in trace.findings if finding.severity == "error"]
    if stopped:
        found = stopped[0]
        said = found.message
        return Observation(error=found.code, message=said, unsure=unsure)
    if any(out.unknown for out in outputs):
        unsure = unsure or "an output is unknown"
    return Observation(outputs, unsure=unsure)


def observe_ours(
    call: Callable[..., Any], args: Any, kwargs: Any, *, values: bool
) -> Observation:
    """The call through a trace that may, or may not, read the tensors' values.

    Arguments travel as one nest: a string among them is the operator's, not a spec.
    """

    container = ""

    def unpacked(nest: Any) -> Any:
        nonlocal container
        output = call(*nest[0], **nest[1])
        container = type(output).__name__
        return output

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = traced(unpacked, ([args, kwargs],), {}, values=values)
        return replace(observe_trace(trace), container=container)
    except (Exception, TooSlow) as error:
        return Observation(error=f"RAISED {type(error).__name__}", message=str(error))


def class_of(differing: list[str], ours: Observation) -> str:
    """One of: equal, said-unknown, stopped-unknown, raised-wrongly, silently-wrong.

    said-unknown goes on with an output that is marked; stopped-unknown ends the run
    because a value or a kernel is missing, and says that.
    """
    if ours.error == "not-recorded":
        return "not-recorded"
    if not differing:
        return "equal"
    if ours.error and refusal(ours) in ("needs-data", "missing"):
        return "stopped-unknown"
    if ours.unsure:
        return "said-unknown"
    return "raised-wrongly" if ours.error else "silently-wrong"
