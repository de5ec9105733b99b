"""Writes down which functions refuse to write into shared memory, by trial on the CPU.

    python tests/zoo/overlap_checks.py

tries every operator (two minutes) and writes
`src/shapewright/engine/dispatch/overlap_checks.json`: dotted torch name, form of the
call, and for each written tensor what its kernel asks (`memory_overlap.Asked`).
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from shapewright.engine.dispatch.memory_overlap import find_overlap, is_expanded  # noqa: E402
from shapewright.engine.identity import Info, Storage, intern_meta  # noqa: E402
from zoo.meta_disagrees import Calls  # noqa: E402
from zoo.observe import Observation, on_meta, tensors  # noqa: E402
from zoo.overlapping import Trial, names, trials  # noqa: E402
from zoo.overlaps import MEMORY, observations  # noqa: E402

TARGET = ROOT / "src" / "shapewright" / "engine" / "dispatch" / "overlap_checks.json"
Outcomes = dict[tuple[str, str], dict[int, dict[int | None, dict[str, set[bool]]]]]
"""By function and form: by written tensor, by operand, by layout: was it refused?"""


def outcomes() -> Outcomes:
    """All trials."""
    found: Outcomes = {}
    for name in names():
        for trial, real in zip(trials(name), observations(name), strict=True):
            refused = refusal(real)
            function = called(trial)
            layout = status(trial)
            if function is None or layout is None:
                continue
            alone = len(tensors((trial.args, trial.kwargs))) == 1
            for form in [trial.form, *["alone"] * (alone and trial.form == "in place")]:
                written = found.setdefault((function, form), {})
                reads = written.setdefault(trial.written, {})
                layouts = reads.setdefault(trial.read, {})
                layouts.setdefault(layout, set()).update(refused)
    return found


def status(trial: Trial) -> str | None:
    """How the written tensor overlaps itself or the operand; None where not surely."""
    args, kwargs = trial.args, trial.kwargs
    if trial.form == "out":
        rest = {key: value for key, value in kwargs.items() if key != "out"}
        written, read = tensors(kwargs["out"]), tensors((args, rest))
    else:
        written, *read = tensors((args, kwargs))
        written = [written]
    target = info(written[trial.written])
    if trial.read is None:
        return "expanded" if is_expanded(target.meta) else None
    operand = read[trial.read]
    same = operand is written[trial.written]
    found = "full" if same else find_overlap(target, info(operand))
    return found if found in ("full", "partial") else None


def info(tensor: torch.Tensor) -> Info:
    return Info(intern_meta({}, tensor, "cpu", False), Storage("cpu"))


def refusal(real: Observation | None) -> Iterable[bool]:
    """Whether torch refused for the overlap; unclear where it died or said else."""
    if real is None:
        return (True, False)
    if real.error and MEMORY not in real.message:
        return ()
    return (bool(real.error),)


def called(trial: Trial) -> str | None:
    """The dotted name of the one torch function that a trial calls."""
    calls = Calls()
    args, kwargs = on_meta(trial.args, trial.kwargs)
    with calls, suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.call(*args, **kwargs)
    return calls.names[0] if len(calls.names) == 1 else None


def word(seen: set[bool]) -> str:
    """`yes`, `no`, or `maybe` where it differs from call to call or was not seen."""
    return {(True,): "yes", (False,): "no"}.get(tuple(seen), "maybe")


def operand(layouts: dict[str, set[bool]]) -> str:
    """What is asked of one operand."""
    shifted = word(layouts.get("partial", set()))
    same = layouts.get("full", set())
    if shifted == "yes" and not same:
        return "any"
    if shifted == "yes":
        return {"yes": "any", "no": "partial"}.get(word(same), "maybe")
    return "no" if shifted == "no" and word(same) != "yes" else "maybe"


def entry(written: dict[int, dict[int | None, dict[str, set[bool]]]]) -> list[Any]:
    """What each written tensor is asked, shortened where the end repeats itself."""
    entries = []
    for at in range(max(written) + 1):
        reads = written.get(at, {})
        itself = word(reads.get(None, {}).get("expanded", set()))
        places = [place for place in reads if place is not None]
        words = [operand(reads.get(i, {})) for i in range(max(places, default=-1) + 1)]
        while len(words) > 1 and words[-1] == words[-2]:
            words.pop()
        entries.append([itself, words])
    return entries


def main() -> None:
    table: dict[str, dict[str, Any]] = {}
    for (name, form), written in sorted(outcomes().items()):
        table.setdefault(name, {})[form] = entry(written)
    for forms in table.values():  # `fill_` by a number is another kernel
        told = forms.get("in place", [["yes"]])[0][0] != "maybe"
        if "alone" in forms and (told or forms["alone"][0][0] == "maybe"):
            del forms["alone"]
    lines = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in table.items()]
    version = torch.__version__.split("+")[0]
    body = ",\n".join(lines)
    TARGET.write_text(
        f'{{\n "torch": "{version}",\n "functions": {{\n{body}\n }}\n}}\n'
    )
    print(f"{len(table)} functions written to {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
