"""A training step recorded for its memory, and the same step on bare meta."""

from __future__ import annotations

import gc
import random
from array import array
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

import shapewright as sw
from bench.models import GPT2, Llama, uninitialised
from bench.report import Section, verdict
from bench.training import foreach_on_meta, spread
from shapewright.analysis.memory.caching_allocator import replay_allocator

STEPS = 3
BAR = 0.6
MOST_SECONDS = {"Llama-8B": 1.0}
MOST_REPLAY = 0.1
DEVICE = "H100 80GB"
MODELS = {"GPT-2": (GPT2, (8, 1024)), "Llama-8B": (Llama, (1, 2048))}


def build(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A model on meta and its tokens."""
    make, shape = MODELS[name]
    with torch.device("meta"), uninitialised():
        return make(), torch.randint(0, 100, shape)


def compute_loss(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The loss of a language model, each token its own target."""
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def bare(name: str) -> float:
    """Seconds of a later step on bare meta."""
    model, tokens = build(name)
    optimizer = torch.optim.AdamW(model.parameters())
    times = array("d")
    with foreach_on_meta():
        for _ in range(STEPS):
            began = perf_counter()
            compute_loss(model(tokens), tokens).backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(perf_counter() - began)
    return times[-1]


def recorded(name: str) -> tuple[float, float, Any]:
    """Seconds from loss to loss, which is a step, and of all; the record."""
    model, tokens = build(name)
    losses = array("d")

    def loss(logits: torch.Tensor) -> torch.Tensor:
        losses.append(perf_counter())
        return compute_loss(logits, tokens)

    began = perf_counter()
    memory = sw.memory(model, tokens, optimizer="adamw", device=DEVICE, loss=loss)
    whole = perf_counter() - began
    assert memory.complete, memory.events.error
    return losses[-1] - losses[-2], whole, memory.events


def section(rounds: int) -> Section:
    """Both sides in each round, in an order drawn anew."""
    order = random.Random(0)
    rows = []
    is_met = True
    for name in MODELS:
        ratios, steps, wholes, replays = [], [], [], []
        bare(name), recorded(name)
        for _ in range(rounds if name == "GPT-2" else max(rounds // 5, 2)):
            base = bare(name) if order.random() < 0.5 else 0.0
            gc.collect()
            step, whole, events = recorded(name)
            gc.collect()
            base = base or bare(name)
            began = perf_counter()
            replay_allocator(events.events, events.steps)
            replays.append(perf_counter() - began)
            ratios.append(step / base)
            steps.append(step)
            wholes.append(whole)
        step, replay = median(steps), median(replays)
        most = MOST_SECONDS.get(name)
        if most is None:
            said = verdict(median(ratios), BAR)
            is_met &= median(ratios) <= BAR
        else:
            said = verdict(step, most)
            is_met &= step <= most
        is_met &= replay <= MOST_REPLAY
        rows.append((
            name, f"{median(ratios):.2f} ({spread(ratios)})", f"{step:.2f} s",
            f"{median(wholes):.2f} s", f"{replay:.3f} s", said,
        ))  # fmt: skip
    text = (
        "Forward, backward and AdamW on a claimed H100, every allocation recorded, and "
        "the same step on bare meta. A record is of two steps; the allocator is "
        "replayed within it."
    )
    header = ("model", "step / bare meta", "a step", "in all", "replay", "verdict")
    return Section("A training step, its memory", text, header, tuple(rows), is_met)
