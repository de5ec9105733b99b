"""Traces, reports and solutions as HTML for a notebook: one block, no script, light and
dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files as resources

from shapewright.findings.finding import Finding
from shapewright.record.report import Report
from shapewright.record.solution import Solution
from shapewright.record.totals import Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import UNICODE, Line, Terminal
from shapewright.views.painted_text import split_painted_text
from shapewright.views.source_lines import Row as LineRow
from shapewright.views.source_lines import iter_files
from shapewright.views.table_rows import (
    ELSEWHERE,
    STOPPED,
    ModuleRow,
    OpRow,
    build_module_rows,
    build_op_rows,
)
from shapewright.views.terminal.findings import format_finding_lines
from shapewright.views.terminal.totals import build_totals_rows

MOST_ROWS = 1000
"""Rows of the op table; a notebook keeps every cell's output in its file."""

_DARK = """
  --sw-text: #e6edf3; --sw-soft: #8d96a0; --sw-line: #30363d; --sw-panel: #161b22;
  --sw-shape: #7ee787; --sw-name: #79c0ff; --sw-error: #ff7b72; --sw-warning: #e3b341;
  --sw-bar: #388bfd; --sw-back: #0d1117; --sw-over: #388bfd1a;
"""


def format_html(trace: Trace) -> str:
    """Return a self-contained block: totals, modules, lines and ops, findings first.

    Example: ``IPython.display.HTML(format_html(trace))``; a notebook does it by itself.
    Sections open and close without any script.
    """
    totals = trace.totals
    modules = len(trace.calls) > 1
    parts = [
        f"<style>{_read_style()}</style>",
        _render_header(trace),
        *(_render_finding(finding, trace) for finding in trace.findings),
        _render_cards(totals),
        _render_section(
            "Modules", formatting.format_plural(len(trace.calls), "call"), modules,
            _render_modules(trace, totals),
        ) if trace.calls else "",
        _render_section("Lines", "", False, _render_lines(trace)) if trace.ops else "",
        _render_section("Ops", formatting.format_plural(totals.ops, "op"), not modules,
                        _render_ops(trace)),
        _render_section("Totals", "", False, _render_totals(trace, totals)),
        _render_notes(trace),
        _render_footer(trace, totals),
    ]  # fmt: skip
    return f'<div class="shapewright">{"".join(parts)}</div>'


@cache
def _read_style() -> str:
    text = resources("shapewright.views").joinpath("notebook.css").read_text("utf-8")
    return text.replace("DARK", _DARK).replace(".shapewright", OURS)


OURS = ".shapewright.shapewright.shapewright"
"""The selector of a card: it wins over a notebook's own rules for tables and lists,
`:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td` for one.
"""


def _render_header(trace: Trace) -> str:
    facts = ["training" if trace.training else "evaluation"]
    facts += [f"{name} = {size}" for name, size in trace.letters.items()]
    if trace.torch_version:
        facts.append(f"torch {trace.torch_version}")
    inner = "".join(f"<span>{escape(fact)}</span>" for fact in facts)
    stopped = "" if trace.complete else '<span class="e">did not reach its end</span>'
    return f"<header><b>{escape(trace.target)}</b>{inner}{stopped}</header>"


def _render_cards(totals: Totals) -> str:
    size = formatting.format_nbytes(totals.parameter_bytes)
    cards = [
        ("parameters", formatting.format_count(totals.parameters), size),
        (
            "arithmetic",
            formatting.format_flops(totals.flops),
            f"{formatting.format_count(totals.multiply_adds)} multiply-adds",
        ),
        (
            "activations",
            formatting.format_nbytes(totals.activation_bytes),
            formatting.format_plural(totals.activations, "new tensor"),
        ),
    ]
    if totals.largest is not None:
        op, fact = totals.largest
        rest = f"{formatting.format_nbytes(fact.nbytes)} from {op.name}"
        cards.append(("largest tensor", formatting.with_dtype(fact), rest))
    return f"<dl>{''.join(_render_card(*card) for card in cards)}</dl>"


def _render_card(label: str, value: str, rest: str) -> str:
    return (
        f"<div><dt>{label}</dt><dd>{escape(value)}"
        f"<small>{escape(rest)}</small></dd></div>"
    )


def _render_section(title: str, rest: str, opened: bool, body: str) -> str:
    mark = " open" if opened else ""
    note = f" <small>{escape(rest)}</small>" if rest else ""
    return (
        f"<details{mark}><summary>{title}{note}</summary>"
        f'<div class="scroll">{body}</div></details>'
    )


def _render_table(heads: Iterable[tuple[str, str]], rows: Iterable[str]) -> str:
    head = "".join(
        f'<th class="{kind}">{title}</th>' if kind else f"<th>{title}</th>"
        for title, kind in heads
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _render_cell(text: str, kind: str = "", share: float = 0.0) -> str:
    attributes = f' class="{kind}"' if kind else ""
    if share >= 0.005:
        attributes += f' style="--share:{share:.2f}"'
    return f"<td{attributes}>{escape(text)}</td>"


def _render_modules(trace: Trace, totals: Totals) -> str:
    rows = build_module_rows(trace, totals)
    heads = (
        ("module", ""), ("class", ""), ("input", ""), ("output", ""),
        ("params", "n"), ("FLOPs", "n"), ("allocated", "n"),
    )  # fmt: skip
    note = f'<div class="notes soft">{ELSEWHERE}</div>'
    table = _render_table(heads, (_render_module(row, totals) for row in rows))
    return table + (note if any(row.again for row in rows) else "")


def _render_module(row: ModuleRow, totals: Totals) -> str:
    tree = row.tree(UNICODE)
    name = escape(row.label)
    first = f'<td><span class="g">{tree}</span>{name}</td>'
    if not tree:
        first = f'<td class="root">{name}</td>'
    style = "e" if row.output == STOPPED else "s"
    share = row.count / max(totals.flops, 1)
    room = row.count / max(totals.activation_bytes, 1)
    size = 0.0 if row.again else row.count / max(totals.parameters, 1)
    bar = 1 if tree else 0
    return "".join(
        [
            first,
            _render_cell(row.kind, "c"),
            _render_cell(row.input),
            _render_cell(row.output, style),
            _render_cell(row.parameters, "n", bar * size * row.subtotal.parameters),
            _render_cell(row.flops, "n", bar * share * row.subtotal.flops),
            _render_cell(row.allocated, "n", bar * room * row.subtotal.written),
        ]
    )


def _render_ops(trace: Trace) -> str:
    rows = build_op_rows(trace)
    heads = (
        ("op", "n"), ("line", ""), ("call", ""), ("input", ""), ("output", ""),
        ("stride", ""), ("kind", ""), ("FLOPs", "n"), ("written", "n"), ("module", ""),
    )  # fmt: skip
    table = _render_table(heads, (_render_op(row) for row in rows[:MOST_ROWS]))
    more = len(rows) - MOST_ROWS
    if more <= 0:
        return table
    return f'{table}<div class="notes soft">and {more:,} more: print(trace)</div>'


def _render_op(row: OpRow) -> str:
    return "".join(
        [
            _render_cell(row.index, "n"),
            _render_cell(row.place),
            _render_cell(row.call),
            _render_cell(row.input),
            _render_cell(row.output, "e" if row.output.startswith("error[") else "s"),
            _render_cell(row.stride, "soft"),
            _render_cell(row.kind),
            _render_cell(row.flops, "n"),
            _render_cell(row.written, "n"),
            _render_cell(row.module, "c"),
        ]
    )


def _render_lines(trace: Trace) -> str:
    tables = []
    for blocks in iter_files(trace, UNICODE.arrow):
        rows = []
        for block in blocks:
            place, name = escape(block.place), escape(block.name)
            title = f'{place} <span class="soft">{name}</span>'
            rows.append(f'<td colspan="4" class="file">{title}</td>')
            rows += [_render_line(row) for row in block.rows]
        tables.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    return "".join(tables)


def _render_line(row: LineRow | None) -> str:
    if row is None:
        return f'<td class="n g">{UNICODE.gap}</td><td></td><td></td><td></td>'
    fact = _render_cell(row.wrong, "e") if row.wrong else _render_cell(row.fact, "s")
    number = f'<td class="n g">{row.number}</td>'
    return f"{number}{_render_cell(row.code)}{fact}{_render_cell(row.often, 'g')}"


def _render_finding(finding: Finding, trace: Trace) -> str:
    terminal = Terminal(width=120)
    lines = "\n".join(
        "".join(_render_segments(line))
        for line in format_finding_lines(finding, trace, terminal)
    )
    return f'<div class="finding {finding.severity}"><pre>{lines}</pre></div>'


def _render_segments(line: Line) -> Iterator[str]:
    for text, style in line:
        kind = _KINDS.get(style)
        inner = escape(text)
        yield f'<span class="{kind}">{inner}</span>' if kind else inner


_KINDS = {
    "error": "e", "warning": "w", "note": "c", "edge": "g", "shape": "s", "name": "c",
    "title": "root", "mark": "e", "out": "s", "read": "c", "where": "w",
}  # fmt: skip
"""The class of each style of a terminal; plain text has none."""


def _render_painted(text: str) -> str:
    """Return text that is coloured for a terminal as HTML."""
    return "\n".join(
        "".join(_render_segments(line)) for line in split_painted_text(text)
    )


def format_report_html(report: Report, text: str) -> str:
    """Return a card of what `check` or `rehearse` found, with its page of text."""
    counts = [
        formatting.format_plural(count, severity)
        for severity in ("error", "warning", "note")
        if (count := sum(f.severity == severity for f in report.findings))
    ]
    if not report.complete:
        counts.append("did not reach its end")
    return _render_page(report.target, counts or ["no findings"], text)


def format_solution_html(solution: Solution, text: str) -> str:
    """Return a card of the sizes that `solve` found, with its page of text."""
    return _render_page(solution.target, [solution.spec], text)


def _render_page(title: str, facts: Iterable[str], text: str) -> str:
    """Return a card: a header with facts, and a page of the terminal below it."""
    inner = "".join(f"<span>{escape(fact)}</span>" for fact in facts)
    return (
        f'<div class="shapewright"><style>{_read_style()}</style>'
        f"<header><b>{escape(title)}</b>{inner}</header>"
        f"<pre>{_render_painted(text.rstrip())}</pre></div>"
    )


def _render_totals(trace: Trace, totals: Totals) -> str:
    rows = (
        f"{_render_cell(label, 'soft')}"
        f'<td style="white-space:normal">{escape(text)}</td>'
        for label, text in build_totals_rows(trace, totals)
    )
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _render_notes(trace: Trace) -> str:
    lines = [("assumed", assumption.message.removeprefix("assumed "), assumption.span)
             for assumption in trace.assumptions]  # fmt: skip
    lines += [("note", note, None) for note in trace.notes]
    if not lines:
        return ""
    rows = "".join(
        f'<div><span class="w">{kind}</span> {escape(text)}'
        + (f' <span class="soft">{escape(str(span))}</span>' if span else "")
        + "</div>"
        for kind, text, span in lines
    )
    return f'<div class="notes">{rows}</div>'


def _render_footer(trace: Trace, totals: Totals) -> str:
    return (
        f"<footer>traced in {formatting.format_duration(trace.seconds)} with no data;"
        " a real run would have allocated "
        f"<b>{formatting.format_nbytes(totals.real_bytes)}</b></footer>"
    )
