"""A training step of GPT-2 small with AdamW, rehearsed and on bare meta."""

from __future__ import annotations

import gc
import random
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch.optim import optimizer as optimizers
from torch.utils import _foreach_utils

import shapewright as sw
from bench.models import GPT2, uninitialised
from bench.report import Section, verdict

STEPS = 3
LATER = 1
"""Steps at the end that count: those before build what all others reuse."""

BAR = 0.6


@contextmanager
def foreach_on_meta() -> Iterator[None]:
    """AdamW on meta takes its kernels for many tensors, as on a GPU."""
    name = "_get_foreach_kernels_supported_devices"
    owners = [owner for owner in (_foreach_utils, optimizers) if hasattr(owner, name)]
    before = [getattr(owner, name) for owner in owners]
    for owner in owners:
        setattr(owner, name, lambda: ["cuda", "cpu", "meta"])
    try:
        yield
    finally:
        for owner, one in zip(owners, before, strict=True):
            setattr(owner, name, one)


def training(times: array[float]) -> Any:
    """A step of a fresh model; each call adds its seconds.

    They stand in an array, because lists are put back after a rehearsal.
    """
    with torch.device("meta"), uninitialised():
        model = GPT2()
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        began = perf_counter()
        tokens = torch.randint(0, 50257, (8, 1024), device="meta")
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(perf_counter() - began)

    return step


def bare() -> list[float]:
    """Seconds of each step on bare meta."""
    times = array("d")
    step = training(times)
    with foreach_on_meta():
        for _ in range(STEPS):
            step()
    return list(times)


def rehearsed() -> list[float]:
    """Seconds of each step in a rehearsal."""
    times = array("d")
    report = sw.rehearse(training(times), steps=STEPS)
    assert report.complete, report.findings
    assert not report.findings, report.findings
    assert len(times) == STEPS
    return list(times)


def section(rounds: int) -> Section:
    """Both sides in each round, in an order drawn anew."""
    order = random.Random(0)
    rows: dict[str, list[float]] = {"first": [], "later": []}
    seconds: dict[str, list[float]] = {"bare": [], "rehearsed": []}
    bare(), rehearsed()
    for _ in range(rounds):
        sides = [("bare", bare), ("rehearsed", rehearsed)]
        order.shuffle(sides)
        took = {}
        for name, run in sides:
            gc.collect()
            took[name] = run()
            seconds[name].append(median(took[name][-LATER:]))
        rows["first"].append(took["rehearsed"][0] / took["bare"][0])
        ratio = median(took["rehearsed"][-LATER:]) / median(took["bare"][-LATER:])
        rows["later"].append(ratio)
    made = [
        (name, f"{median(found):.2f} ({spread(found)})", said)
        for name, found, said in (
            ("the first step, which is torch's own", rows["first"], "no bar"),
            ("a later step", rows["later"], verdict(median(rows["later"]), BAR)),
        )
    ]
    text = (
        "Forward, backward and AdamW with the kernels for many tensors, 8 x 1,024 "
        f"tokens. A later step takes {1000 * median(seconds['bare']):.0f} ms on bare "
        f"meta, {1000 * median(seconds['rehearsed']):.0f} ms rehearsed."
    )
    header = ("step", "rehearsed / bare meta", "verdict")
    met = median(rows["later"]) <= BAR
    return Section("A training step, rehearsed", text, header, tuple(made), met)


def spread(values: list[float]) -> str:
    """The middle half."""
    if len(values) < 3:
        return f"{min(values):.2f} to {max(values):.2f}"
    low, _, high = quantiles(values, n=4)
    return f"{low:.2f} to {high:.2f}"
