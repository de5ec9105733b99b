"""Writes down where torch's meta kernels disagree with its CPU kernels.

    python tests/zoo/meta_disagrees.py

runs every operator sample on both (half a minute) and writes
`src/shapewright/engine/dispatch/meta_disagrees.json`: dotted torch name, kinds of
disagreement, how many samples of how many. The engine must not take meta's word there.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from zoo.observe import differences, observe, on_meta, time_limit  # noqa: E402
from zoo.samples import Sample, forms, operators, samples  # noqa: E402

TARGET = ROOT / "src" / "shapewright" / "engine" / "dispatch" / "meta_disagrees.json"
PROPERTIES = ("__get__", "__set__", "__delete__")


class Calls(TorchFunctionMode):
    """The outermost torch calls made in the block, by dotted name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = resolve_name(function) or getattr(function, "__name__", str(function))
        if not name.endswith(PROPERTIES):
            self.names.append(name)
        return function(*args, **(kwargs or {}))


def compared(sample: Sample) -> tuple[list[str], list[str]]:
    """The torch calls that a sample makes, and where meta and CPU differ."""
    calls = Calls()

    def recorded(*args: Any, **kwargs: Any) -> Any:
        with calls:
            return sample.call(*args, **kwargs)

    args, kwargs = on_meta(sample.args, sample.kwargs)
    with time_limit(20):
        meta = observe(recorded, args, kwargs)
        real = observe(sample.call, sample.args, sample.kwargs)
    return calls.names, differences(meta, real)


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operator with a disagreement, by dotted name of what it calls."""
    for operator in operators():
        kinds: dict[str, Counter[str]] = {}
        count: Counter[str] = Counter()
        every = (samples(operator, form) for form in (None, *forms(operator)))
        for sample in itertools.chain.from_iterable(every):
            calls, differing = compared(sample)
            name = calls[0] if len(calls) == 1 else operator
            count[name] += 1
            kinds.setdefault(name, Counter()).update(differing)
        for name in sorted(kinds):
            if found := dict(sorted(kinds[name].items())):
                one = {"operator": operator, "kinds": found, "samples": count[name]}
                yield name, one


def main() -> None:
    table: dict[str, list[dict[str, Any]]] = {}
    for name, entry in entries():
        table.setdefault(name, []).append(entry)
    text = json.dumps(
        {
            "torch": torch.__version__.split("+")[0],
            "functions": dict(sorted(table.items())),
        },
        indent=1,
    )
    TARGET.write_text(text + "\n")
    print(f"{len(table)} functions written to {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
