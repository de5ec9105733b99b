"""Small models run for real on the CPU, and traced: every module's output compared."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from models import CASES
from zoo.observe import TooSlow, stride_of, tensors, time_limit

SECONDS = 60.0
Outputs = list[tuple[tuple[int, ...], str, tuple[int, ...] | None]]


def names() -> list[str]:
    """All cases of `tests/models`."""
    return list(CASES)


@dataclass(slots=True)
class Calls:
    """Outputs of each module call, in the order in which the calls began."""

    paths: list[str] = field(default_factory=list)
    outputs: list[Outputs] = field(default_factory=list)
    open: list[int] = field(default_factory=list)

    def begins(self, path: str) -> None:
        self.open.append(len(self.paths))
        self.paths.append(path)
        self.outputs.append([])

    def ends(self, output: Any) -> None:
        self.outputs[self.open.pop()] = described(output)


def described(nest: Any) -> Outputs:
    """Shape, dtype and stride of the tensors in a nest, dataclasses opened."""
    nest = vars(nest) if hasattr(nest, "__dataclass_fields__") else nest
    return [
        (tuple(x.shape), str(x.dtype).removeprefix("torch."), stride_of(x))
        for x in tensors(nest)
    ]


@contextmanager
def watched(model: nn.Module) -> Iterator[Calls]:
    """Record every module call of `model` by hooks."""
    calls = Calls()
    handles = []
    for path, module in model.named_modules():
        before = lambda *_, path=path: calls.begins(path)  # noqa: E731
        after = lambda _, given, output: calls.ends(output)  # noqa: E731
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after))
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def real(name: str) -> Calls:
    """Run a case on real tensors."""
    model, args, kwargs = CASES[name]()
    with written_out(), watched(model) as calls:
        model(*args, **kwargs)
    return calls


@contextmanager
def written_out() -> Iterator[None]:
    """Transformer layers call the modules inside, which is what is compared here."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def claimed(name: str) -> tuple[Calls, str]:
    """Trace a case; the trace's module calls, and what went wrong or was assumed."""
    from shapewright.record import collect_leaves
    from zoo.ours import not_recorded, traced

    model, args, kwargs = CASES[name]()
    before = copy.deepcopy(model.state_dict()) if not lazy(model) else {}
    with written_out():
        trace = traced(model, args, kwargs)
    calls = Calls()
    for call in trace.calls:
        calls.paths.append(call.path)
        facts = collect_leaves(call.output)
        calls.outputs.append([(fact.shape, fact.dtype, fact.stride) for fact in facts])
    said = [finding.message for finding in trace.findings]
    said += [assumption.message for assumption in trace.assumptions]
    if not all(torch.equal(before[key], model.state_dict()[key]) for key in before):
        said.append("the model's state changed")
    lost = not_recorded(trace)
    if lost:
        calls.paths.append(lost)
    return calls, "; ".join(said)


def lazy(model: nn.Module) -> bool:
    """Does the model hold parameters without a shape yet?"""
    return any(nn.parameter.is_lazy(parameter) for parameter in model.parameters())


def check(name: str) -> dict[str, Any]:
    """`verdict` is equal, or the first module call where trace and run part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = real(name)
        try:
            with time_limit(SECONDS):
                got, said = claimed(name)
        except (Exception, TooSlow) as error:
            text = f"{type(error).__name__}: {error}"[:200]
            return {"verdict": "raised", "cause": text, "calls": len(expected.paths)}
    verdict, cause = compared(expected, got)
    said = f" [{said}]" if said and verdict != "equal" else ""
    return {"verdict": verdict, "cause": cause + said, "calls": len(expected.paths)}


def compared(expected: Calls, got: Calls) -> tuple[str, str]:
    """Verdict and cause."""
    if expected.paths != got.paths:
        where = next(
            (
                n
                for n, (a, b) in enumerate(zip(expected.paths, got.paths, strict=False))
                if a != b
            ),
            min(len(expected.paths), len(got.paths)),
        )
        run, trace = expected.paths[where : where + 1], got.paths[where : where + 1]
        return "other calls", f"call {where}: run {run}, trace {trace}"
    rows = zip(expected.paths, expected.outputs, got.outputs, strict=True)
    for path, run, trace in rows:
        if run != trace:
            return "differs", f"`{path}`: run {run[:3]}, trace {trace[:3]}"
    return "equal", ""
