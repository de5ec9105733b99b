"""Torch's operator samples: real CPU, bare meta and Shapewright side by side.

An item is an operator; its result counts its samples by verdict and keeps every
exception, with the call that shows it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from zoo.observe import Observation, differences, observe, on_meta, tensors, time_limit
from zoo.samples import Sample, operators, samples

names = operators
SECONDS = 20.0
KEPT = 5
"""Exceptions kept in full for each operator and verdict; the rest is counted."""


def check(operator: str) -> dict[str, Any]:
    """All samples of one operator."""
    return checked(samples(operator))


def checked(drawn: Iterable[Sample]) -> dict[str, Any]:
    """Verdicts on samples: how many of each, and the first exceptions in full."""
    counts: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    for exception in _exceptions(drawn, counts):
        same = [one for one in kept if one["verdict"] == exception["verdict"]]
        if len(same) < KEPT:
            kept.append(exception)
    return {"counts": dict(counts), "exceptions": kept}


def _exceptions(
    drawn: Iterable[Sample], counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    for sample in drawn:
        ours, known, meta, real = four(sample)
        if real.error and "only supported on CUDA" in real.message:
            counts["not on the CPU"] += 1
            continue
        counts["errors" if sample.kind == "error" else "valid"] += 1
        found = judge(ours, meta, real)
        counts[f"known {judge(known, meta, real)['verdict']}"] += 1
        missed = found["verdict"] == "silently-wrong" and real.error and known.error
        if missed and only_values_fail(sample):
            found["verdict"] = "an error of values"
        counts[found["verdict"]] += 1
        if found["meta"]:
            counts["meta differs"] += 1
        if found["verdict"] != "equal":
            yield {
                **found,
                "kind": sample.kind,
                "index": sample.index,
                "call": text(sample),
            }


def four(sample: Sample) -> tuple[Observation, ...]:
    """A trace that reads no values, one that may, bare meta, and the real call."""
    from zoo.ours import observe_ours

    meta_args, meta_kwargs = on_meta(sample.args, sample.kwargs)
    with time_limit(SECONDS):
        given = sample.call, sample.args, sample.kwargs
        ours = observe_ours(*given, values=False)
        known = observe_ours(*given, values=True)
        meta = observe(sample.call, meta_args, meta_kwargs)
        real = observe(*given)
    return ours, known, meta, real


def only_values_fail(sample: Sample) -> bool:
    """Does the CPU take the same call with ones, or with zeros for integers?"""
    for whole in (0, 1):
        args, kwargs = copy.deepcopy((sample.args, sample.kwargs))
        for tensor in tensors((args, kwargs)):
            tensor.copy_(1 if tensor.is_floating_point() else whole)
        with time_limit(SECONDS):
            if not observe(sample.call, args, kwargs).error:
                return True
    return False


def judge(ours: Observation, meta: Observation, real: Observation) -> dict[str, Any]:
    """Verdict on ours, what differs, and whether bare meta itself is right."""
    from zoo.ours import class_of

    differing = differences(ours, real)
    found: dict[str, Any] = {"verdict": class_of(differing, ours), "differs": differing}
    found["meta"] = differences(meta, real)
    found["ours"] = brief(ours)
    found["real"] = brief(real)
    return found


def brief(observation: Observation) -> str:
    """An observation in a few words."""
    if observation.error:
        return f"{observation.error}: {observation.message[:120]}"
    said = [
        f"{out.dtype}{list(out.shape)}:{out.stride}" for out in observation.outputs[:3]
    ]
    note = f" ({observation.unsure[:120]})" if observation.unsure else ""
    return " ".join(said) + note


def text(sample: Sample) -> str:
    """The call, as it could be typed, tensors by dtype and shape."""
    args = [argument(value) for value in sample.args]
    args += [f"{name}={argument(value)}" for name, value in sample.kwargs.items()]
    name = getattr(sample.call, "__name__", sample.operator)
    name = sample.operator if name == "<lambda>" else name
    return f"{name}({', '.join(args)})"[:200]


def argument(value: Any) -> str:
    """One argument of a call as text."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"{dtype}{list(value.shape)}"
    if isinstance(value, list | tuple) and tensors(value):
        return f"[{', '.join(map(argument, value))}]"
    return repr(value)[:60]
