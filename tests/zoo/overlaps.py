"""Writes into shared memory: does a trace refuse what the CPU refuses?

Torch's kernels can damage the process where they do not refuse (`torch.sort` into an
expanded tensor), so the real calls run in a child; what kills it is left out.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from zoo.observe import Observation, Seen, observe, on_meta, time_limit
from zoo.operators import KEPT, SECONDS, judge, text
from zoo.overlapping import Trial, names, trials
from zoo.samples import Sample

MEMORY = "single memory location"
"""In the words of every refusal for an overlap."""

__all__ = ["MEMORY", "check", "names", "observations"]


def check(name: str) -> dict[str, Any]:
    """All trials of one operator."""
    from zoo.ours import observe_ours

    counts: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    for trial, real in zip(trials(name), observations(name), strict=True):
        if real is None:
            counts["not on the CPU"] += 1
            continue
        counts["valid"] += 1
        meta_args, meta_kwargs = on_meta(trial.args, trial.kwargs)
        with time_limit(SECONDS):
            ours = observe_ours(trial.call, trial.args, trial.kwargs, values=False)
            meta = observe(trial.call, meta_args, meta_kwargs)
        found = judge(ours, meta, real)
        if real.error and MEMORY not in real.message and not ours.error:
            found["verdict"] = "an error of values"  # a shared index, overwritten
        counts[found["verdict"]] += 1
        counts["refused"] += bool(real.error)
        counts["meta differs"] += bool(found["meta"])
        same = [one for one in kept if one["verdict"] == found["verdict"]]
        if found["verdict"] != "equal" and len(same) < KEPT:
            kept.append({**found, "call": described(trial)})
    return {"counts": dict(counts), "exceptions": kept}


def described(trial: Trial) -> str:
    """The call as text, with what shares memory."""
    sample = Sample(trial.call.__name__, "", 0, trial.call, trial.args, trial.kwargs)
    where = "itself" if trial.read is None else f"operand {trial.read}"
    return f"{text(sample)}, {trial.layout} against {where}"


def observations(name: str) -> Iterator[Observation | None]:
    """What real CPU tensors give for each trial; None where that killed the process."""
    done = 0
    total = sum(1 for _ in trials(name))
    while done < total:
        for line in _child(name, done):
            yield line
            done += 1
        if done < total:  # it died on this one
            yield None
            done += 1


def _child(name: str, start: int) -> Iterator[Observation]:
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as out:
                _work(name, start, out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            fields = json.loads(line)
            outputs = tuple(
                Seen(
                    tuple(one["shape"]), one["dtype"],
                    None if one["stride"] is None else tuple(one["stride"]),
                    one["alias"], one["unknown"],
                )
                for one in fields.pop("outputs")
            )  # fmt: skip
            yield Observation(outputs, **fields)
    os.waitpid(process, 0)


def _work(name: str, start: int, out: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    for trial in islice(trials(name), start, None):
        with time_limit(SECONDS):
            seen = observe(trial.call, trial.args, trial.kwargs)
        out.write(json.dumps(seen.as_json()) + "\n")
        out.flush()
