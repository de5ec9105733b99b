"""What `solve` found, as versioned JSON."""

from __future__ import annotations

import json
from typing import Any

from shapewright.trace.encode import span_json
from shapewright.trace.module import leaves
from shapewright.trace.solution import Demanded, Example, Needed, Solution
from shapewright.views.demands import said

VERSION = 1


def solution_json(solution: Solution, indent: int | None = 2) -> str:
    """The solution as JSON text: letters, demands, runs that show them, outputs."""
    return json.dumps(solution_data(solution), indent=indent, ensure_ascii=False)


def solution_data(solution: Solution) -> dict[str, Any]:
    """The solution as plain data."""
    return {
        "version": VERSION,
        "target": solution.target,
        "spec": solution.spec,
        "letters": list(solution.letters),
        "demands": [demand_json(each) for each in solution.demands],
        "outputs": [
            {"dtype": fact.dtype, "shape": [str(size) for size in fact.shape]}
            for fact in leaves(solution.output)
        ],
        "works": example_json(solution.works),
        "fails": example_json(solution.fails),
        "needed": needed_json(solution.needed),
        "want": solution.want or None,
        "wanted": [example_json(each) for each in solution.wanted],
        "runs": solution.runs,
        "sure": solution.sure,
        "tried": [
            {"sizes": dict(one.sizes), "taken": not one.message}
            for one in solution.tried
        ],
        "stopped": solution.stopped or None,
    }


def demand_json(each: Demanded) -> dict[str, Any]:
    """A demand: a condition of Python over the letters, its line, and why."""
    return {
        "condition": each.text,
        "says": said(each.demand),
        "why": each.why,
        "span": span_json(each.span),
        "refused": example_json(each.refused),
        "calls": each.calls,
        "implied": each.implied,
    }


def needed_json(each: Needed | None) -> dict[str, Any] | None:
    """The argument of a layer that would have to be another."""
    if each is None:
        return None
    return {
        "layer": each.layer,
        "class": each.class_name,
        "argument": each.argument,
        "has": each.has,
        "formula": each.formula or None,
        "value": each.value,
        "sizes": dict(each.sizes),
        "span": span_json(each.span),
    }


def example_json(run: Example | None) -> dict[str, Any] | None:
    """One run."""
    if run is None:
        return None
    return {
        "sizes": dict(run.sizes),
        "output": run.output or None,
        "message": run.message or None,
        "span": span_json(run.span),
    }
