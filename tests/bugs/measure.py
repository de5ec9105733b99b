"""How much of the corpus `shapewright check` finds, and how many fixes are right.

    python tests/bugs/measure.py [--names A B ...] [--verbose] [--jobs 2]

Each program is checked in a process of its own. A fix counts as meant only if the
program with the first fix of every finding runs for real and returns the shapes of
the label; nothing of the label but its lines and shapes is used.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bugs import verify

SECONDS = 60.0


@dataclass
class Row:
    """What became of one program."""

    name: str
    kind: str
    wanted: int = 0
    found: int = 0
    sites: int = 0
    meant: bool = False
    false: list[str] = field(default_factory=list)
    complete: bool = False
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)


def target(name: str) -> str:
    """What is checked: the model, or `main`."""
    text = verify.source(name)
    kind = "Model" if "class Model" in text else "main"
    return f"{verify.PROGRAMS / (name + '.py')}:{kind}"


def checked(name: str) -> dict[str, Any]:
    """The report of one program as data; run in a child."""
    from shapewright import api
    from shapewright.views.data_formats import build_report_data

    began = time.perf_counter()
    report = api.check_target(target(name))
    data = build_report_data(report)
    data["seconds"] = time.perf_counter() - began
    return data


def row(name: str) -> Row:
    """One program, checked and compared with its label."""
    from shapewright.runtime.processes.forks import ChildLost, run_in_child

    label = verify.label(name)
    mistakes = label.get("mistakes", [])
    made = Row(name, label["kind"], len(mistakes))
    try:
        data = run_in_child(lambda: checked(name), SECONDS)
    except ChildLost:
        made.said = ["no answer: our own fault, or too slow"]
        made.false = ["lost"]
        return made
    findings = [each for each in data["findings"] if each["severity"] != "note"]
    made.complete, made.seconds = data["complete"], data["seconds"]
    lines = [each["span"]["line"] if each["span"] else 0 for each in findings]
    made.said = [
        f"{line} {each['severity']}[{each['code']}] {each['message']}"
        + "".join(f"\n        {edits_text(fix)}" for fix in each["fixes"])
        for line, each in zip(lines, findings, strict=True)
    ]
    ends = [each["span"]["end_line"] if each["span"] else 0 for each in findings]
    for mistake in mistakes:
        at = [
            n
            for n, (first, last) in enumerate(zip(lines, ends, strict=True))
            if first <= mistake["fails"] <= last
        ]
        made.found += bool(at)
        places = {mistake["mistake"]} | {e["line"] for e in mistake.get("also", [])}
        made.sites += any(places & sites(findings[n]) for n in at)
    known = {mistake["fails"] for mistake in mistakes}
    made.false = [
        said
        for said, first, last in zip(made.said, lines, ends, strict=True)
        if not any(first <= line <= last for line in known)
    ]
    edits = [fix for each in findings for fix in each["fixes"][:1]]
    if mistakes and edits:
        with contextlib.suppress(Exception):
            text = fixed(name, edits)
            shapes = run_in_child(lambda: verify.run(name, text).shapes, SECONDS)
            made.meant = shapes == label["meant"]["outputs"]
    return made


def sites(finding: dict[str, Any]) -> set[int]:
    """All lines that a finding names."""
    spans = [finding["span"], *(each["span"] for each in finding["related"])]
    found = {line for s in spans if s for line in range(s["line"], s["end_line"] + 1)}
    for fix in finding["fixes"]:
        found |= {edit["start"][0] for edit in fix["edits"]}
    return found


def edits_text(fix: dict[str, Any]) -> str:
    """A fix in short."""
    lines = ", ".join(str(edit["start"][0]) for edit in fix["edits"])
    return f"fix at {lines}: {fix['message']}"


def fixed(name: str, fixes: list[dict[str, Any]]) -> str:
    """The program with these fixes; of two at one place the first counts."""
    from shapewright.program.spans import Span, apply_edits

    edits: dict[tuple[int, ...], tuple[Span, str]] = {}
    for fix in fixes:
        for edit in fix["edits"]:
            span = Span("", *edit["start"], *edit["end"])
            edits.setdefault((*edit["start"], *edit["end"]), (span, edit["text"]))
    return apply_edits(verify.source(name), edits.values())


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f} %)" if whole else "")


def table(rows: list[Row]) -> list[str]:
    """The lines of the summary."""
    errors = [each for each in rows if each.kind == "error"]
    silent = [each for each in rows if each.kind == "silent"]
    legal = [each for each in rows if each.kind == "legal"]
    several = [each for each in errors if each.wanted > 1]
    seconds = sorted(each.seconds for each in rows)
    wanted = sum(each.wanted for each in errors)
    found = sum(each.found for each in errors)
    return [
        f"errors found at their line: {share(found, wanted)}",
        "all of several errors in one run: "
        + share(sum(e.found == e.wanted for e in several), len(several)),
        "the line of the mistake is named: "
        + share(sum(e.sites for e in errors), wanted),
        "first checked fixes run as meant: "
        + share(sum(e.meant for e in errors), len(errors)),
        "silent mistakes found: "
        + share(sum(bool(e.found) for e in silent), len(silent)),
        "legal programs without a finding, run to the end: "
        + share(sum(not e.false and e.complete for e in legal), len(legal)),
        f"false findings in programs with errors: {sum(len(e.false) for e in errors)}",
        f"seconds above the imports: median {seconds[len(seconds) // 2]:.2f}, "
        f"most {seconds[-1]:.2f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="*")
    parser.add_argument("--corpus", type=Path, help="another folder of this form")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.corpus:
        verify.PROGRAMS = options.corpus.resolve() / "programs"
        verify.LABELS = options.corpus.resolve() / "labels"
    from shapewright.inputs import target_objects  # noqa: F401
    from shapewright.runtime import run  # noqa: F401  (before any fork)

    names = options.names or verify.names()
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(row, names))
    for each in rows:
        good = (
            each.found == each.wanted
            and not each.false
            and (each.complete if each.kind == "legal" else each.meant)
        )
        if options.verbose or not good:
            print(
                f"{each.kind} {each.name}: {each.found}/{each.wanted} found, "
                f"{each.sites} sites, meant {each.meant}, complete {each.complete}, "
                f"{len(each.false)} false, {each.seconds:.2f} s"
            )
            for mistake in verify.label(each.name).get("mistakes", []):
                shown = "; ".join(f"{e['line']}: {e['new']}" for e in mistake["edits"])
                print(f"    wanted {mistake['fails']} <- {mistake['mistake']}: {shown}")
            for said in each.said:
                print(f"    {said}")
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
