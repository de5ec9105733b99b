"""Large models, many layers, large inputs. Each function runs in its own process."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import torch


def peak() -> float:
    """Highest resident memory of this process so far, in MB (Linux)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def largest() -> dict[str, float]:
    """Llama-405B at 128k context: megabytes above the import of torch, seconds."""
    before = peak()
    import shapewright as sw
    from bench.models import llama_405b, uninitialised

    began = time.perf_counter()
    with torch.device("meta"), uninitialised(), torch.no_grad():
        model = llama_405b().eval()
    built = time.perf_counter()
    given = torch.empty(1, 131072, dtype=torch.int64, device="meta")
    with torch.no_grad():
        trace = sw.trace(model, given)
    assert trace.complete, trace.findings
    return {
        "imported": before,
        "above": peak() - before,
        "build": built - began,
        "trace": time.perf_counter() - built,
        "ops": len(trace.ops),
        "parameters": sum(p.numel() for p in model.parameters()),
    }


SIZES = {
    "8B": ((4096, 32, 8, 14336), 2048),
    "405B": ((16384, 128, 8, 53248), 131072),
}
"""Width, heads, groups and feed-forward width; tokens."""
FEW, MANY = 10, 90


def per_layer(rounds: int) -> dict[str, list[float]]:
    """Milliseconds that one more layer costs at the 8B's and at the 405B's sizes.

    The difference between 90 and 10 layers, by 80: what a call costs once, whatever the
    number of layers, is left out for both.
    """
    import shapewright as sw

    runs = {}
    for name, (_, tokens) in SIZES.items():
        given = torch.empty(1, tokens, dtype=torch.int64, device="meta")
        for layers in (FEW, MANY):
            runs[name, layers] = partial(sw.trace, llama(name, layers), given)
    made: dict[str, list[float]] = {name: [] for name in SIZES}
    with torch.no_grad():
        for number in range(rounds + 1):
            order = sorted(runs, reverse=bool(number % 2))
            seconds = {key: timed(runs[key]) for key in order}
            for name in made if number else ():
                more = seconds[name, MANY] - seconds[name, FEW]
                made[name].append(more / (MANY - FEW) * 1e3)
    return made


def llama(name: str, layers: int) -> Any:
    """A Llama of a size in `SIZES`, of so many layers, on meta."""
    from bench.models import Llama, uninitialised

    (width, heads, groups, feed), _ = SIZES[name]
    with torch.device("meta"), uninitialised():
        return Llama(width, layers, heads, groups, feed).eval()


def timed(run: Callable[[], object]) -> float:
    """Seconds of one run, the garbage of others collected before."""
    gc.collect()
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def growth(layers: list[int], rounds: int) -> list[dict[str, float]]:
    """Seconds and bytes kept against the number of layers."""
    import shapewright as sw
    from bench.models import Tower, uninitialised

    given = torch.empty(4, 64, device="meta")
    rows: list[dict[str, float]] = []
    with torch.no_grad():
        sw.trace(Tower(2), given)
        for count in layers:
            with torch.device("meta"), uninitialised():
                model = Tower(count).eval()
            run = partial(sw.trace, model, given)
            seconds = min(timed(run) for _ in range(rounds))
            rows.append({"layers": count, "seconds": seconds, **kept(model, given)})
    return rows


def kept(model: Any, given: torch.Tensor) -> dict[str, float]:
    """Bytes of Python memory that a finished trace holds, for each op."""
    import shapewright as sw

    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    trace = sw.trace(model, given)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return {"ops": len(trace.ops), "bytes": held / len(trace.ops)}


def by_batch(rounds: int) -> dict[str, list[float]]:
    """Milliseconds for ResNet-50 at batch 1 and at batch 2^40, in alternating runs."""
    import shapewright as sw
    from bench.models import ResNet50, uninitialised

    with torch.device("meta"), uninitialised():
        model = ResNet50().eval()
    given = {
        name: torch.empty(batch, 3, 224, 224, device="meta")
        for name, batch in (("1", 1), ("2^40", 2**40))
    }
    made: dict[str, list[float]] = {name: [] for name in given}
    with torch.no_grad():
        for number in range(rounds + 1):
            for name in sorted(given, reverse=bool(number % 2)):
                seconds = timed(partial(sw.trace, model, given[name]))
                if number:
                    made[name].append(seconds * 1e3)
    return made


def sanity() -> dict[str, int]:
    """GPT-2 small at 1 x 128: parameters, and multiply-adds that the trace counts."""
    import shapewright as sw
    from bench.models import GPT2, uninitialised

    with torch.device("meta"), uninitialised(), torch.no_grad():
        model = GPT2().eval()
    with torch.no_grad():
        trace = sw.trace(model, torch.empty(1, 128, dtype=torch.int64, device="meta"))
    counted = {
        state.path: state.fact.numel
        for state in trace.states
        if not state.buffer and state.tied is None
    }
    flops = sum(op.flops or 0 for op in trace.ops)
    return {"parameters": sum(counted.values()), "multiply_adds": flops // 2}
