"""The sections of the comparison: measure, then lay out beside the bars."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from bench import memory_steps, processes, subjects, symbolic, training
from bench.report import Section, verdict
from bench.timing import Rounds, interleaved, spread

FULL, AGAIN = 0.25, 0.15


def forward(rounds: int) -> Section:
    """The full record against a warm bare meta forward."""
    rows, met = [], True
    for name, make in {**subjects.MODELS, **subjects.installed()}.items():
        measured = interleaved(
            {
                "bare": subjects.bare(make),
                "ours": subjects.ours(make),
                "again": subjects.ours_again(make),
                "apart": subjects.ours_apart(make),
            },
            rounds,
        )
        if measured.refused:
            rows.append((name, str(measured.refused), "", "", "", ""))
            met = met and name not in subjects.MODELS
            continue
        full, again = (measured.ratio(who, "bare") for who in ("ours", "again"))
        own = name in subjects.MODELS
        met = met and (not own or (full.median <= FULL and again.median <= AGAIN))
        rows.append(
            (
                name,
                measured.time("bare").text(1, 1e3),
                measured.time("ours").text(1, 1e3),
                f"{full.text()}, {verdict(full.median, FULL)}",
                f"{again.text()}, {verdict(again.median, AGAIN)}",
                measured.ratio("apart", "bare").text(),
            )
        )
    return Section(
        "Full record against a bare forward on meta tensors",
        "Under `no_grad`, everything warm. *First*: one public call with an empty memo."
        " *Again*: the second of two runs in a row, which share the memo and what was"
        " looked at of the model before the first. *Apart*: the second of two public"
        " calls that share a memo only. The first four models are written out in"
        " `bench/models.py`.",
        (
            "model",
            "bare meta, ms",
            "first, ms",
            "first / bare",
            "again / bare",
            "apart / bare",
        ),
        tuple(rows),
        met,
    )


def peers(rounds: int) -> Section:
    """Each peer on the same models."""
    rows, met = [], True
    few = max(3, rounds // 2)
    for name, make in subjects.MODELS.items():
        who = {"bare": subjects.bare(make), "ours": subjects.ours(make)}
        who |= {n: subjects.peer(run, make) for n, run in subjects.PEERS.items()}
        measured = interleaved(who, few)
        fastest = min(
            (peer for peer in measured.seconds if peer in subjects.PEERS),
            key=lambda peer: measured.ratio(peer, "ours").median,
        )
        factor = measured.ratio(fastest, "ours")
        met = met and factor.median >= 4
        word = "met" if factor.median >= 4 else "**not met**"
        rows.append((name, "Shapewright", measured.ratio("ours", "bare").text(), ""))
        rows += [peer_row(measured, peer, fastest, word) for peer in subjects.PEERS]
    return Section(
        "Peers",
        "The same models and inputs, everything imported before. torchtyc's `trace`"
        " needs annotated functions, so its `run` is measured. A peer that cannot run"
        " on meta tensors is listed with what it says. The bar: at least 4 times"
        " faster than the fastest peer.",
        ("model", "who", "time / bare meta", "time / Shapewright's"),
        tuple(rows),
        met,
    )


def peer_row(measured: Rounds, peer: str, fastest: str, word: str) -> tuple[str, ...]:
    """One peer's line: its ratios, or why it refuses."""
    if peer in measured.refused:
        return ("", peer, "refuses", measured.refused[peer])
    factor = measured.ratio(peer, "ours").text(1)
    note = f", fastest: {word} (bar 4)" if peer == fastest else ""
    return ("", peer, measured.ratio(peer, "bare").text(), factor + note)


def process(rounds: int) -> Section:
    """The command as a whole process."""
    made = processes.command_line(rounds)
    found = processes.imported()
    ratio = made["ratio"]
    rows = (
        ("`shapewright trace examples/lenet.py:Net`, s", made["command"].text(), ""),
        ('`python -c "import torch"`, s', made["import"].text(), ""),
        ("ratio", ratio.text(), verdict(ratio.median, 1.3)),
        (
            "imports of `torch._dynamo` and `sympy`",
            ", ".join(found) or "none",
            "**not met** (bar: none)" if found else "met (bar: none)",
        ),
    )
    met = ratio.median <= 1.3 and not found
    return Section(
        "The command line",
        "Whole processes, alternating, from start to exit.",
        ("what", "measured", "bar"),
        rows,
        met,
    )


def large(rounds: int) -> Section:
    """Llama-405B: memory, and time per layer against the 8B's."""
    memory = processes.child("largest")
    layer = processes.child("per_layer", rounds=max(3, rounds // 3))
    pairs = zip(layer["405B"], layer["8B"], strict=True)
    ratio = spread([one / other for one, other in pairs])
    count = f"{memory['parameters'] / 1e9:.1f} G parameters"
    rows = (
        (
            f"memory above `import torch` ({count}), MB",
            f"{memory['above']:.0f}",
            verdict(memory["above"], 200),
        ),
        ("building it, s", f"{memory['build']:.2f}", ""),
        (f"first trace ({memory['ops']} calls), s", f"{memory['trace']:.2f}", ""),
        ("one more layer at 405B's sizes, ms", spread(layer["405B"]).text(), ""),
        ("one more layer at 8B's sizes, ms", spread(layer["8B"]).text(), ""),
        (
            "ratio",
            ratio.text(),
            f"{'met' if abs(ratio.median - 1) <= 0.15 else '**not met**'}"
            " (bar: within 15 %)",
        ),
    )
    return Section(
        "Llama-405B at 128k context",
        "126 layers, 16,384 wide, 1 x 131,072 token ids, in a process of its own.",
        ("what", "measured", "bar"),
        rows,
        memory["above"] <= 200 and abs(ratio.median - 1) <= 0.15,
    )


LAYERS = [10, 30, 100, 300, 1000, 3000, 10000]


def growth(rounds: int) -> Section:
    """Time and memory against the number of layers."""
    made = processes.child("growth", layers=LAYERS, rounds=3)
    rows = [
        (
            f"{row['layers']:,}",
            f"{row['ops']:,}",
            f"{row['seconds'] * 1e3:.1f}",
            f"{row['seconds'] / row['ops'] * 1e6:.1f}",
            f"{row['bytes']:,.0f}",
        )
        for row in made
    ]
    power = exponent([(row["ops"], row["seconds"]) for row in made[2:]])
    most = max(row["bytes"] for row in made if row["ops"] >= 300)
    linear = "met" if power <= 1.1 else "**not met**"
    text = (
        f"Time grows as ops to the power {power:.2f} (fitted from 100 layers up; bar:"
        f" linear, {linear}). At most {most:,.0f} bytes are kept for an op in traces of"
        f" 300 ops or more: {verdict(most, 1536)}."
    )
    header = ("layers", "ops", "ms", "us per op", "bytes kept per op")
    return Section("Growth", text, header, tuple(rows), power <= 1.1 and most <= 1536)


def exponent(points: list[tuple[float, float]]) -> float:
    """Slope of a straight line through the logarithms."""
    xs = torch.tensor([math.log(x) for x, _ in points])
    ys = torch.tensor([math.log(y) for _, y in points])
    xs, ys = xs - xs.mean(), ys - ys.mean()
    return float((xs * ys).sum() / (xs * xs).sum())


def size(rounds: int) -> Section:
    """Time against input size."""
    made = processes.child("by_batch", rounds=rounds)
    pairs = zip(made["2^40"], made["1"], strict=True)
    ratio = spread([one / other for one, other in pairs])
    within = ratio.low <= 1.0 <= ratio.high or abs(ratio.median - 1) <= 0.05
    rows = [
        (f"ResNet-50, batch {n}, ms", spread(v).text(1), "") for n, v in made.items()
    ]
    word = "met" if within else "**not met**"
    rows.append(("ratio", ratio.text(), f"{word} (bar: within noise)"))
    return Section(
        "Time against input size",
        "Batch 1 and batch 2^40 (about a trillion images), alternating.",
        ("what", "measured", "bar"),
        tuple(rows),
        within,
    )


def sanity(rounds: int) -> Section:
    """Counts that everybody can check."""
    made = processes.child("sanity")
    giga = made["multiply_adds"] / 1e9
    right = made["parameters"] == 124_439_808 and round(giga, 2) == 16.11
    rows = (
        ("parameters, tied ones once", f"{made['parameters']:,}", "124,439,808"),
        ("multiply-adds", f"{giga:.2f} G", "16.11 G"),
    )
    text = "GPT-2 small at 1 x 128: the counts that the speed is not bought with."
    return Section("Sanity", text, ("what", "counted", "true"), rows, right)


SECTIONS: dict[str, Callable[[int], Section]] = {
    "sanity": sanity,
    "forward": forward,
    "peers": peers,
    "process": process,
    "large": large,
    "growth": growth,
    "size": size,
    "symbolic": symbolic.section,
    "training": training.section,
    "memory": memory_steps.section,
}
