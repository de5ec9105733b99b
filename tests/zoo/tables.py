"""From results to pages: what was covered, and each exception with its cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
Result = dict[str, Any]

GENERATED = "<!-- Written by `make zoo` (tests/zoo/tables.py). Do not edit. -->"


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a kind in a few lines, and whether its bar is met."""

    lines: tuple[str, ...]
    met: bool


def summarise(kind: str, results: Sequence[Result]) -> Summary:
    """The figures of a kind against its bar."""
    return SUMMARIES[kind](results)


def write(kind: str, results: Sequence[Result], summary: Summary) -> Path:
    """Write the page of a kind to docs/ and return where."""
    path = DOCS / f"coverage-{kind}.md"
    path.write_text(page(kind, results, summary))
    return path


def page(kind: str, results: Sequence[Result], summary: Summary) -> str:
    """The whole page: title, figures, exceptions."""
    title, intro = TITLES[kind]
    figures = [f"- {line}" for line in summary.lines]
    parts = [f"# {title}", GENERATED, intro, "\n".join(figures), text(kind, results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def text(kind: str, results: Sequence[Result]) -> str:
    """The exceptions of a kind as Markdown."""
    return TEXTS[kind](results)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; empty without rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    head = [f"| {' | '.join(header)} |", f"| {' | '.join('---' for _ in header)} |"]
    return "\n".join(head + lines)


def cell(value: object) -> str:
    """Text that cannot break a table, and no addresses, which change each run."""
    plain = re.sub(r"0x[0-9a-f]{6,}", "0x…", str(value))
    plain = re.sub(r"/\S*/site-packages/", "", plain)
    return plain.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def code(value: object) -> str:
    """A cell in code style."""
    return f"`{str(value).replace('`', '')}`" if value else ""


def share(part: int, whole: int) -> str:
    """`1,310 of 1,371 (95.6 %)`."""
    percent = 100 * part / whole if whole else 0.0
    return f"{part:,} of {whole:,} ({percent:.1f} %)"


# -- operators ---------------------------------------------------------------------


def _operator_summary(results: Sequence[Result]) -> Summary:
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.get("counts", {result.get("verdict", "crashed"): 1}))
    total = counts["valid"] + counts["errors"]
    known = counts["known equal"]
    wrong = counts["silently-wrong"] + counts["crashed"] + counts["too slow"]
    lines = (
        f"{len(results)} operators, {counts['valid']:,} samples in float32, int64 and "
        f"bool, {counts['errors']:,} error inputs, on inputs without values",
        f"equal to real CPU tensors: {share(counts['equal'], total)}",
        f"said to be unknown: {counts['said-unknown']:,}, and"
        f" {counts['stopped-unknown']:,} where the run stops there",
        f"errors that depend on values, seen once values are given:"
        f" {counts['an error of values']:,}",
        f"raised though the CPU does not: {counts['raised-wrongly']:,}",
        f"silently wrong (the bar is 0): {wrong:,}",
        f"not recorded, a fault of the recorder: {counts['not-recorded']:,}",
        f"the same samples with their values: equal {share(known, total)}, silently"
        f" wrong {counts['known silently-wrong']:,}, raised"
        f" {counts['known raised-wrongly']:,}",
        f"bare meta differs from the CPU on: {counts['meta differs']:,}",
        f"left out, only for a GPU (jiterator): {counts['not on the CPU']:,}",
    )
    faults = wrong + counts["raised-wrongly"] + counts["not-recorded"]
    return Summary(lines, faults == 0)


def _overlap_summary(results: Sequence[Result]) -> Summary:
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.get("counts", {result.get("verdict", "crashed"): 1}))
    wrong = counts["silently-wrong"] + counts["crashed"] + counts["too slow"]
    lines = (
        f"{len(results)} operators, {counts['valid']:,} calls, of which the CPU refuses"
        f" {counts['refused']:,}",
        f"equal to real CPU tensors: {share(counts['equal'], counts['valid'])}",
        f"said to be unknown: {counts['said-unknown']:,}, and"
        f" {counts['stopped-unknown']:,} where the run stops there",
        f"raised though the CPU does not: {counts['raised-wrongly']:,}",
        f"silently wrong (the bar is 0): {wrong:,}",
        f"not recorded, a fault of the recorder: {counts['not-recorded']:,}",
        f"bare meta differs from the CPU on: {counts['meta differs']:,}",
        f"left out, because the real call kills the process:"
        f" {counts['not on the CPU']:,}",
    )
    faults = wrong + counts["raised-wrongly"] + counts["not-recorded"]
    return Summary(lines, faults == 0)


HEADINGS = {
    "silently-wrong": "Silently wrong",
    "raised-wrongly": "Raised though the CPU does not",
    "not-recorded": "Not recorded: faults of the recorder",
    "an error of values": "Errors of values, seen once the values are given",
    "stopped-unknown": "Stopped, and said that values are needed",
    "said-unknown": "Said to be unknown, and went on",
}

ORDER = tuple(HEADINGS)


def _operator_text(results: Sequence[Result]) -> str:
    parts = [_died(results)]
    for verdict in ORDER:
        rows = list(_operator_rows(results, verdict))
        header = (
            "operator",
            "samples",
            "differs",
            "bare meta",
            "example",
            "ours",
            "CPU",
        )
        if rows:
            parts.append(f"## {HEADINGS[verdict]}\n\n{table(header, rows)}")
    return "\n\n".join(part for part in parts if part)


def _died(results: Sequence[Result]) -> str:
    rows = [(code(r["item"]), r["cause"]) for r in results if "cause" in r]
    body = table(("operator", "what happened"), rows)
    return f"## Not finished\n\n{body}" if rows else ""


def _operator_rows(results: Sequence[Result], verdict: str) -> Iterable[list[str]]:
    for result in results:
        seen = [e for e in result.get("exceptions", ()) if e["verdict"] == verdict]
        if not seen:
            continue
        first = seen[0]
        yield [
            code(result["item"]),
            str(result["counts"][verdict]),
            ", ".join(sorted({name for e in seen for name in e["differs"]})),
            ", ".join(sorted({name for e in seen for name in e["meta"]})) or "right",
            code(first["call"]),
            first["ours"][:160],
            first["real"][:160],
        ]


# -- models ------------------------------------------------------------------------


def _equal_summary(what: str) -> Callable[[Sequence[Result]], Summary]:
    def summary(results: Sequence[Result]) -> Summary:
        equal = sum(result["verdict"] == "equal" for result in results)
        seconds = sum(result.get("traced_seconds", 0) for result in results)
        ops = sum(result.get("ops", 0) for result in results)
        lines = [f"{what}: {share(equal, len(results))}"]
        if ops:
            lines.append(f"{ops:,} calls recorded in {seconds:.0f} s of tracing")
        if "calls" in results[0]:
            calls = sum(result.get("calls", 0) for result in results)
            lines.append(f"{calls:,} module calls compared by shape, dtype and stride")
        return Summary(tuple(lines), equal == len(results))

    return summary


def _unequal_text(results: Sequence[Result]) -> str:
    bad = [result for result in results if result["verdict"] != "equal"]
    rows = [(code(r["item"]), r["verdict"], r["cause"]) for r in bad]
    body = table(("model", "verdict", "cause"), rows)
    return f"## Exceptions\n\n{body}" if rows else "No exceptions."


def _transformers_summary(results: Sequence[Result]) -> Summary:
    count = Counter(result["verdict"] for result in results)
    traced = [result for result in results if result["verdict"] == "traced"]
    told = [result["assumed"] for result in traced if "assumed" in result]
    assumed = f"{sum(map(bool, told)):,} of {len(told):,} looked at"
    given = sum(result.get("by") == "given" for result in traced)
    built = len(results) - count["not built"]
    able = built - count["refused for real"]
    lines = (
        f"of {len(results)} config classes, {count['not built']:,} build no model when"
        f" they are called without arguments",
        f"traced to the end, of those that are built: {share(len(traced), built)}; the"
        f" bar is 95 %",
        f"of these with inputs that a person wrote down: {given:,}; with assumptions"
        f" about values: {assumed}",
        f"refused by the model itself or by torch in a real run on the CPU, with the"
        f" same inputs: {count['refused for real']:,}; without these traced:"
        f" {share(len(traced), able)}",
    )
    return Summary(lines, 100 * len(traced) >= 95 * built)


def _transformers_text(results: Sequence[Result]) -> str:
    bad = [result for result in results if result["verdict"] != "traced"]
    groups: Counter[tuple[str, str]] = Counter()
    for result in bad:
        groups[result["verdict"], general(result["cause"])] += 1
    ranked = [(count, *group) for group, count in groups.most_common() if count > 1]
    rows = [
        (code(r["item"]), r["verdict"], code(r.get("input", "")), r["cause"])
        for r in sorted(bad, key=lambda each: each["verdict"])
    ]
    return "\n\n".join(
        part
        for part in (
            "## Causes that several share",
            table(("models", "verdict", "cause"), ranked),
            "## Each failure",
            table(("model", "verdict", "input", "cause"), rows),
        )
        if part
    )


def general(cause: str) -> str:
    """A cause with names of classes and numbers left out, to group by."""
    cause = re.sub(r"\b[A-Z]\w*(Model|Encoder|Config|Generation)\b", "…", cause)
    return re.sub(r"\d+", "N", cause)


def _maps_summary(results: Sequence[Result]) -> Summary:
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.get("counts", {"failed": 1}))
    bad = counts["wrong"] + counts["failed"]
    lines = (
        f"{len(results)} operators with an index map, {counts['samples']:,} samples in"
        " float32 and int64 (at most 120 an operator)",
        f"drawn, and equal to torch at every element looked at:"
        f" {share(counts['drawn'], counts['samples'])}; the bar is 95 %",
        f"not drawn, with a reason: {counts['not drawn']:,}",
        f"the map and torch disagree: {counts['wrong']:,};"
        f" failed: {counts['failed']:,}",
    )
    return Summary(lines, not bad and counts["drawn"] >= 0.95 * counts["samples"])


def _maps_text(results: Sequence[Result]) -> str:
    rows = [
        f"| {code(result['item'])} | {count:,} of {result['counts']['samples']:,} |"
        f" {cell(reason)} |"
        for result in results
        for reason, count in result.get("reasons", {}).items()
    ]
    head = "## Not drawn\n\n| operator | samples | reason |\n| --- | --- | --- |\n"
    return head + "\n".join(rows) if rows else ""


def _random_summary(results: Sequence[Result]) -> Summary:
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.get("counts", {"failed": 1}))
    cases, drawn = counts["cases"], counts["drawn"]
    bad = counts["wrong"] + counts["failed"]
    lines = (
        f"{len(results)} families, {cases:,} calls of"
        f" {sum(result.get('operators', 0) for result in results):,} operators and"
        f" methods, from one seed",
        f"drawn: {share(drawn, cases)}",
        f"equal to torch at every element looked at:"
        f" {share(counts['equal'], drawn)}; without one to look at, as the"
        f" output is empty or out of range: {counts['empty']:,}",
        f"the map and torch disagree (the bar is 0): {counts['wrong']:,}; failed:"
        f" {counts['failed']:,}",
    )
    return Summary(lines, bad == 0)


def _random_text(results: Sequence[Result]) -> str:
    keys = ("cases", "drawn", "equal", "empty", "wrong")
    rows = [
        (
            result["item"],
            result.get("operators", 0),
            *(f"{result.get('counts', {}).get(key, 0):,}" for key in keys),
            "; ".join(
                f"{count} {reason}"
                for reason, count in result.get("reasons", {}).items()
            ),
        )
        for result in results
    ]
    header = ("family", "operators", *keys, "not drawn, and why")
    return table(header, rows)


BARS = {"timm": 95, "transformers": 85, "models": 90, "bugs": 90}
"""Percent of each corpus for which inputs must be found, its names hidden or not."""


def _found_summary(results: Sequence[Result]) -> Summary:
    lines, met = [], True
    kinds = [kind + hidden for kind in BARS for hidden in ("", "-renamed")]
    for kind in kinds:
        mine = [each for each in results if each["item"].partition(":")[0] == kind]
        built = [each for each in mine if each.get("verdict") != "not built"]
        found = sum(each.get("verdict") == "found" for each in built)
        if built:
            lines.append(f"{kind}: found for {share(found, len(built))}")
            met &= 100 * found >= BARS[kind.removesuffix("-renamed")] * len(built)
    return Summary(tuple(lines), met)


def _found_text(results: Sequence[Result]) -> str:
    rows = [
        (each["item"], code(each.get("spec", "")), each.get("cause", ""))
        for each in results
        if each.get("verdict") not in ("found", "not built")
    ]
    return table(("not found", "came furthest with", "and stopped at"), rows)


SUMMARIES: dict[str, Callable[[Sequence[Result]], Summary]] = {
    "operators": _operator_summary,
    "variants": _operator_summary,
    "overlaps": _overlap_summary,
    "maps": _maps_summary,
    "random": _random_summary,
    "small": _equal_summary("every module's output equal to a real run"),
    "timm": _equal_summary("models traced with outputs equal to bare meta's"),
    "transformers": _transformers_summary,
    "finding": _found_summary,
}
TEXTS: dict[str, Callable[[Sequence[Result]], str]] = {
    "operators": _operator_text,
    "variants": _operator_text,
    "overlaps": _operator_text,
    "maps": _maps_text,
    "random": _random_text,
    "small": _unequal_text,
    "timm": _unequal_text,
    "transformers": _transformers_text,
    "finding": _found_text,
}
TITLES = {
    "operators": (
        "Coverage: torch's operator samples",
        "Every sample input and error input that torch tests its operators with,"
        " through a trace that may not read values, against the same call on real CPU"
        " tensors: shape, dtype and stride of every output, which input it shares"
        " memory with, and whether it raises.",
    ),
    "variants": (
        "Coverage: operators as methods and in place",
        "The same samples through the other forms of each operator: `x.add(y)`,"
        " `x.add_(y)`, `x + y`, `x += y`.",
    ),
    "overlaps": (
        "Coverage: writes into shared memory",
        "Calls with `out=` and in place whose written tensor shares memory with an"
        " operand, or lies several times in one place, against the same call on real"
        " CPU tensors: does it raise, and what comes out?",
    ),
    "random": (
        "Coverage: random calls of index maps",
        "Random calls of every family, 1,000 of each, drawn: each map is compared with"
        " torch's own output at up to 64 random elements of every call. The generators"
        " are those of `tests/maps`.",
    ),
    "maps": (
        "Coverage: index maps",
        "The samples that torch tests its operators with, drawn: each map is compared"
        " with torch's own output at up to 64 random elements of every sample.",
    ),
    "small": (
        "Coverage: real against claimed",
        "Small models run for real on the CPU and traced; the output of every module"
        " call compared by shape, dtype and stride.",
    ),
    "timm": (
        "Coverage: timm",
        "Every model of timm 1.0.31 at its own input size.",
    ),
    "transformers": (
        "Coverage: transformers",
        "Every base model of transformers 5.23, built from its default config and"
        " traced with inputs that the search finds, else with those that a person wrote"
        " down (`tests/zoo/given_inputs.py`). A model that stops all the same is run"
        " for real on the CPU, at the same size, with the same inputs: `refused for"
        " real` are those that the model or torch refuses there, too.",
    ),
    "finding": (
        "Coverage: inputs found",
        "Inputs found by search alone: nothing that an author or a library declares is"
        " looked at. `renamed`: the arguments of `forward` are called a, b, c. Of timm"
        " a sample of 200, of transformers every base model that its default config"
        " builds; renamed, 60 of each; the samples are drawn with a seed. `models` and"
        " `bugs` are programs of our own tests.",
    ),
}
