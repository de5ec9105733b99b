"""What a failing call got, as formulas in the letters that have no size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.reasoning.explaining import explained_with
from shapewright.reasoning.formulas.fitted import Dims
from shapewright.reasoning.formulas.operands import operands, until
from shapewright.reasoning.naming import tensor_names
from shapewright.reasoning.program import Program
from shapewright.trace.report import Report

if TYPE_CHECKING:
    from shapewright.tracing import Fed

FITTED, CHECKED = 16, 4
"""Runs at random sizes, to fit formulas and to check them."""

SPAN, STEP = 64, 32
"""How far sizes go beyond the usual ones, and in which step where only multiples do."""


def in_letters(report: Report, program: Program, took: Sequence[Fed]) -> Report:
    """The report, a line in letters below each finding whose call got such sizes.

    The program is run at other sizes for that; where they do not show a formula for
    every dim of a tensor, nothing is said of it.
    """
    spec = took[0].spec if took else None
    if spec is None or not spec.letters_free or not program.failures:
        return report
    calls = {
        (finding.code, finding.span): failures[0].op
        for finding, failures in explained_with(program)
    }
    wanted = [(each.code, each.span) for each in report.findings]
    if not any(each in calls for each in wanted):
        return report
    first, *others = samples(took[0], list(spec.letters_free))
    if first is None:
        return report
    findings = []
    for each in report.findings:
        call = calls.get((each.code, each.span))
        line = "" if call is None else said(program, call, first, others)
        findings.append(replace(each, lines=(*each.lines, line)) if line else each)
    return replace(report, findings=tuple(findings))


def said(program: Program, call: int, first: Any, others: Sequence[Any]) -> str:
    """``in letters: `x` is (B, 32*T)``, or nothing."""
    op = program.trace.ops[call]
    shapes = [tuple(fact.shape) for fact in op.inputs]
    if call >= len(first.taken) or [*map(tuple, first.taken[call])] != shapes:
        return ""
    shown = until(first, call)
    fitted = [shown, *(each for each in others[CHECKED:] if each is not None)]
    checks = [each for each in others[:CHECKED] if each is not None]
    parts = []
    names = tensor_names(program, op)
    for name, fact, dims in zip(
        names, op.inputs, operands(fitted, checks, call), strict=False
    ):
        if fact.tensor not in program.states and has_letters(dims):
            shape = ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "")
            parts.append(f"{name} is ({shape})")
    return "in letters: " + ", ".join(dict.fromkeys(parts)) if parts else ""


def has_letters(dims: Dims) -> bool:
    """Whether every dim has a formula, and some depend on letters."""
    known = [each for each in dims if each is not None]
    return len(known) == len(dims) and any(each.letters() for each in known)


def samples(fed: Fed, free: Sequence[str]) -> list[Any]:
    """What runs show, the first at the usual sizes; None for one that shows nothing.

    Of one in which other calls fail than in the first, only what came before.
    """
    from shapewright.engine.memo import Memo
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.example import materialize
    from shapewright.runtime.restore.snapshot import take
    from shapewright.runtime.run import Settings, record
    from shapewright.searching.feeding import made_of

    assert fed.spec is not None
    usual = {name: fed.spec.letters[name] for name in free}
    memo, taken = Memo(), take(fed.callable, fed.args, fed.kwargs)
    draw = random.Random(0)
    found: list[Any] = []
    failing: set[Any] = set()
    for nth in range(1 + FITTED + CHECKED):
        sizes = somewhere(usual, nth, draw) if nth else usual
        try:
            args, kwargs = materialize(fed.spec.with_sizes(**sizes), made_of)
        except InputError:
            found.append(None)
            continue
        settings = Settings(go_on=True, quick=True, memo=memo, taken=taken)
        settings.sampled, settings.letters = True, {**fed.spec.letters, **sizes}
        with fed.running():
            made = record(fed.callable, args, kwargs, settings)
        if any(each.code == "timeout" for each in made.findings):
            return [None]
        sample: Any = settings.sample
        if sample is None:
            found.append(None)
            continue
        sample = replace(sample, letters=sizes)
        keys = [sample.keys[failure.op] for failure in settings.failures]
        if nth == 0:
            failing = set(keys)
        if failing.issuperset(keys):
            found.append(sample)
        else:  # what it went on with at the first is not to be trusted either
            found.append(until(sample, settings.failures[0].op))
    return found


def somewhere(usual: dict[str, int], nth: int, draw: random.Random) -> dict[str, int]:
    """Sizes at random: beyond the usual ones, multiples of them, and below them."""
    sizes = {}
    for name, size in usual.items():
        beyond = size + draw.randrange(1, SPAN if size > 4 else 4)
        multiple = size + STEP * draw.randrange(8) if size > 4 else beyond
        below = draw.randrange(1, size + 1)
        sizes[name] = (beyond, multiple, beyond, below)[nth % 4]
    return sizes
