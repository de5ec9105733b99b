"""What `solve` found and what was proven, as text.

proven  output (B, 16, (H - 12)//4, (W - 12)//4)  for B >= 1, H >= 32, W >= 32
"""

from __future__ import annotations

from dataclasses import replace

from shapewright.program.spans import Span
from shapewright.record.solution import (
    PROVEN,
    REFUTED,
    Demanded,
    Example,
    Needed,
    Proof,
    Solution,
    Statement,
)
from shapewright.views import formatting
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Terminal,
    count_cells,
    format_demand,
    render_lines,
)
from shapewright.views.terminal.totals import label_text

STYLES = {PROVEN: "out", REFUTED: "error"}


def format_proof(proof: Proof, colour: bool = False) -> str:
    """Return a line for each statement."""
    return render_lines(_format_proof_lines(proof), colour)


def _format_proof_lines(proof: Proof) -> list[Line]:
    """Return a line for each statement: its verdict, subject, and sizes."""
    room = max(
        (count_cells(statement.heading) for statement in proof.statements), default=0
    )
    return [_format_statement(statement, room) for statement in proof.statements]


def _format_statement(statement: Statement, room: int) -> Line:
    """Return the line of a statement; its verdict has `room` columns."""
    line: Line = [
        (f"{statement.heading:{room}}", STYLES.get(statement.verdict, "warning")),
        ("  ", ""),
    ]
    if statement.place:
        line += [(statement.place, "name"), (" ", "")]
    line.append((statement.text, "shape"))
    if statement.detail:
        line.append((f"  {statement.detail}", "plain"))
    return line


SHOWN = 4
"""Outputs of modules that are not proven and are shown, at most."""

TRIED = 40
"""Sizes that are listed if no demand held, at most."""

NONE_FOUND = "no sizes that it accepts were found"


def format_solution(
    solution: Solution,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
) -> str:
    """Return the accepted sizes, each demand with its line, and runs that show it."""
    terminal = Terminal(max(width or 100, 40), colour, UNICODE if unicode else ASCII)
    return render_lines(_format_page(solution, terminal), colour)


def _format_page(solution: Solution, terminal: Terminal) -> list[Line]:
    """Return the lines of the page."""
    lines: list[Line] = [
        [(solution.target, "title"), (f"  {solution.spec}", "plain")],
        [],
    ]
    if solution.stopped:
        return [*lines, [(f"{solution.stopped}; nothing is known yet", "error")]]
    if solution.works is None:
        lines.append([(NONE_FOUND, "error")])
        lines += _format_failing(solution, terminal)
        if solution.needed is not None:
            lines += label_text("needs", _format_needed(solution.needed), terminal)
        return [*lines, _format_last_line(solution)]
    if solution.output is not None:
        lines += label_text("gives", formatting.format_nest(solution.output), terminal)
    shown = [demand for demand in solution.demands if not demand.implied]
    if solution.tried:
        lines += _format_tried(solution, terminal)
        shown = []
    elif solution.whole is not None:
        lines += label_text("takes", format_demand(solution.whole), terminal)
    elif not shown:
        lines += label_text("takes", "every size that was tried", terminal)
    for demand in shown:
        lines += _format_demand(demand, solution.whole is None, terminal)
    lines.append([])
    lines += _format_example("works", solution.works, terminal)
    lines += _format_failing(solution, terminal)
    if solution.want:
        lines += [[], *_format_wanted(solution, terminal)]
    if solution.proof is not None:
        lines += [[], *_choose_proof(solution.proof)]
    return [*lines, _format_last_line(solution)]


def _choose_proof(proof: Proof) -> list[Line]:
    """Return the proof of outputs and demands, and what is unproven about modules."""
    modules = [s for s in proof.statements if s.place and not _is_output(s)]
    open_ = [s for s in modules if s.verdict != PROVEN]
    kept = [s for s in proof.statements if not s.place or _is_output(s)]
    lines = _format_proof_lines(replace(proof, statements=(*kept, *open_[:SHOWN])))
    done = len(modules) - len(open_)
    if modules:
        outputs = formatting.format_plural(len(modules), "output")
        text = f"{done} of {outputs} of modules proven"
        lines.append([(text, "plain")])
    return lines


def _is_output(statement: Statement) -> bool:
    """Return whether a statement is about the result of the target."""
    return statement.place.startswith("output")


def _format_tried(solution: Solution, terminal: Terminal) -> list[Line]:
    """Return the sizes that were tried, accepted ones first."""
    lines: list[Line] = []
    for label, refused in (("took", False), ("refused", True)):
        runs = [trial for trial in solution.tried if bool(trial.message) == refused]
        sizes = sorted(
            {tuple(trial.sizes[n] for n in solution.letters) for trial in runs}
        )
        listed = [" x ".join(map(str, size)) for size in sizes[:TRIED]]
        if len(sizes) > TRIED:
            listed.append(f"and {len(sizes) - TRIED} more")
        if listed:
            names = " x ".join(solution.letters)
            lines += label_text(label, f"{names}: {', '.join(listed)}", terminal)
    return lines


def _format_demand(demand: Demanded, first: bool, terminal: Terminal) -> list[Line]:
    """Return a demand with the line that makes it."""
    calls = f"{demand.calls} calls at " if demand.calls > 1 else ""
    where = f"{calls}{_format_place(demand.span)}: " if demand.span else ""
    lines = label_text("takes" if first else "", format_demand(demand.demand), terminal)
    return [*lines, *label_text("", f"{where}{demand.why}", terminal)]


def _format_example(label: str, run: Example, terminal: Terminal) -> list[Line]:
    """Return an example run: its sizes, and its output."""
    sizes = ", ".join(f"{name} = {size}" for name, size in run.sizes.items())
    arrow = terminal.glyphs.arrow
    rest = f" {arrow} {run.output}" if run.output else ""
    if run.message:
        rest = f": {run.message}" + (
            f", at {_format_place(run.span)}" if run.span else ""
        )
    return label_text(label, f"{sizes}{rest}", terminal)


def _format_failing(solution: Solution, terminal: Terminal) -> list[Line]:
    """Return the nearest sizes that are rejected."""
    if solution.fails is None:
        return []
    return _format_example("fails", solution.fails, terminal)


def _format_needed(needed: Needed) -> str:
    """Return the argument of a layer that would have to change, and its value."""
    parts = [
        needed.class_name,
        f"{needed.argument}={needed.has}",
        _format_place(needed.span),
    ]
    sizes = ", ".join(f"{name} = {size}" for name, size in needed.sizes.items())
    text = (
        f"`{needed.layer}` ({', '.join(filter(None, parts))}) needs {needed.argument}="
    )
    if needed.formula == str(needed.value):
        return f"{text}{needed.value} here"
    if needed.formula:
        return f"{text}{needed.formula} here: {needed.value} at {sizes}"
    return f"{text}{needed.value} at {sizes}"


def _format_wanted(solution: Solution, terminal: Terminal) -> list[Line]:
    """Return sizes that produce the requested output."""
    if not solution.wanted:
        return label_text(
            "wanted", f"no sizes were found that give {solution.want}", terminal
        )
    lines: list[Line] = []
    for run in solution.wanted:
        lines += _format_example("wanted", run, terminal)
    return lines


def _format_place(span: Span | None) -> str:
    """Return ``model.py:41``."""
    return "" if span is None else f"{span.file}:{span.line}"


def _format_last_line(solution: Solution) -> Line:
    """Return the number of runs on which the result is based."""
    runs = formatting.format_plural(solution.runs, "data-free run")
    if solution.works is None:
        return [(runs, "plain")]
    if solution.tried:
        return [
            (
                f"{runs}; no demand held, so none is printed",
                "plain",
            )
        ]
    sure = "" if solution.sure else "; more runs may show more demands"
    agree = "agrees" if solution.runs == 1 else "agree"
    return [(f"{runs} {agree} with these demands{sure}", "plain")]
