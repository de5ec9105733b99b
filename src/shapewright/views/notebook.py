"""A trace as HTML for a notebook: one block, no script, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files as resources

from shapewright.findings.finding import Finding
from shapewright.record.totals import Totals
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import UNICODE, Line, Terminal
from shapewright.views.source_lines import Row as LineRow
from shapewright.views.source_lines import files
from shapewright.views.table_rows import (
    ELSEWHERE,
    STOPPED,
    ModuleRow,
    OpRow,
    module_rows,
    op_rows,
)
from shapewright.views.terminal.findings import finding_lines
from shapewright.views.terminal.totals import totals_rows

MOST_ROWS = 1000
"""Rows of the op table; a notebook keeps every cell's output in its file."""

_DARK = """
  --sw-text: #e6edf3; --sw-soft: #8d96a0; --sw-line: #30363d; --sw-panel: #161b22;
  --sw-shape: #7ee787; --sw-name: #79c0ff; --sw-error: #ff7b72; --sw-warning: #e3b341;
  --sw-bar: #388bfd; --sw-back: #0d1117; --sw-over: #388bfd1a;
"""


def html(trace: Trace) -> str:
    """Return a self-contained block: totals, modules, lines and ops, findings first.

    Example: ``IPython.display.HTML(html(trace))``; a notebook does it by itself.
    Sections open and close without any script.
    """
    totals = trace.totals
    modules = len(trace.calls) > 1
    parts = [
        f"<style>{_style()}</style>",
        _header(trace),
        *(_finding(finding, trace) for finding in trace.findings),
        _cards(totals),
        _section("Modules", formatting.plural(len(trace.calls), "call"), modules,
                 _modules(trace, totals)) if trace.calls else "",
        _section("Lines", "", False, _lines(trace)) if trace.ops else "",
        _section("Ops", formatting.plural(totals.ops, "op"), not modules, _ops(trace)),
        _section("Totals", "", False, _totals(trace, totals)),
        _notes(trace),
        _footer(trace, totals),
    ]  # fmt: skip
    return f'<div class="shapewright">{"".join(parts)}</div>'


@cache
def _style() -> str:
    text = resources("shapewright.views").joinpath("notebook.css").read_text("utf-8")
    return text.replace("DARK", _DARK)


def _header(trace: Trace) -> str:
    facts = ["training" if trace.training else "evaluation"]
    facts += [f"{name} = {size}" for name, size in trace.letters.items()]
    if trace.torch_version:
        facts.append(f"torch {trace.torch_version}")
    inner = "".join(f"<span>{escape(fact)}</span>" for fact in facts)
    stopped = "" if trace.complete else '<span class="e">did not reach its end</span>'
    return f"<header><b>{escape(trace.target)}</b>{inner}{stopped}</header>"


def _cards(totals: Totals) -> str:
    size = formatting.nbytes(totals.parameter_bytes)
    cards = [
        ("parameters", formatting.count(totals.parameters), size),
        (
            "arithmetic",
            formatting.flops(totals.flops),
            f"{formatting.count(totals.multiply_adds)} multiply-adds",
        ),
        (
            "activations",
            formatting.nbytes(totals.activation_bytes),
            formatting.plural(totals.activations, "new tensor"),
        ),
    ]
    if totals.largest is not None:
        op, fact = totals.largest
        rest = f"{formatting.nbytes(fact.nbytes)} from {op.name}"
        cards.append(("largest tensor", formatting.with_dtype(fact), rest))
    return f"<dl>{''.join(_card(*card) for card in cards)}</dl>"


def _card(label: str, value: str, rest: str) -> str:
    return (
        f"<div><dt>{label}</dt><dd>{escape(value)}"
        f"<small>{escape(rest)}</small></dd></div>"
    )


def _section(title: str, rest: str, opened: bool, body: str) -> str:
    mark = " open" if opened else ""
    note = f" <small>{escape(rest)}</small>" if rest else ""
    return (
        f"<details{mark}><summary>{title}{note}</summary>"
        f'<div class="scroll">{body}</div></details>'
    )


def _table(heads: Iterable[tuple[str, str]], rows: Iterable[str]) -> str:
    head = "".join(
        f'<th class="{kind}">{title}</th>' if kind else f"<th>{title}</th>"
        for title, kind in heads
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str, kind: str = "", share: float = 0.0) -> str:
    given = f' class="{kind}"' if kind else ""
    if share >= 0.005:
        given += f' style="--share:{share:.2f}"'
    return f"<td{given}>{escape(text)}</td>"


def _modules(trace: Trace, totals: Totals) -> str:
    rows = module_rows(trace, totals)
    heads = (
        ("module", ""), ("class", ""), ("input", ""), ("output", ""),
        ("params", "n"), ("FLOPs", "n"), ("allocated", "n"),
    )  # fmt: skip
    note = f'<div class="notes soft">{ELSEWHERE}</div>'
    table = _table(heads, (_module(row, totals) for row in rows))
    return table + (note if any(row.again for row in rows) else "")


def _module(row: ModuleRow, totals: Totals) -> str:
    tree = row.tree(UNICODE)
    name = escape(row.label)
    first = f'<td><span class="g">{tree}</span>{name}</td>'
    if not tree:
        first = f'<td class="root">{name}</td>'
    made = "e" if row.output == STOPPED else "s"
    share = row.count / max(totals.flops, 1)
    room = row.count / max(totals.activation_bytes, 1)
    size = 0.0 if row.again else row.count / max(totals.parameters, 1)
    bar = 1 if tree else 0
    return "".join(
        [
            first,
            _cell(row.kind, "c"),
            _cell(row.input),
            _cell(row.output, made),
            _cell(row.parameters, "n", bar * size * row.subtotal.parameters),
            _cell(row.flops, "n", bar * share * row.subtotal.flops),
            _cell(row.allocated, "n", bar * room * row.subtotal.written),
        ]
    )


def _ops(trace: Trace) -> str:
    rows = op_rows(trace)
    heads = (
        ("op", "n"), ("line", ""), ("call", ""), ("input", ""), ("output", ""),
        ("stride", ""), ("kind", ""), ("FLOPs", "n"), ("written", "n"), ("module", ""),
    )  # fmt: skip
    table = _table(heads, (_op(row) for row in rows[:MOST_ROWS]))
    more = len(rows) - MOST_ROWS
    if more <= 0:
        return table
    return f'{table}<div class="notes soft">and {more:,} more: print(trace)</div>'


def _op(row: OpRow) -> str:
    return "".join(
        [
            _cell(row.index, "n"),
            _cell(row.place),
            _cell(row.call),
            _cell(row.input),
            _cell(row.output, "e" if row.output.startswith("error[") else "s"),
            _cell(row.stride, "soft"),
            _cell(row.kind),
            _cell(row.flops, "n"),
            _cell(row.written, "n"),
            _cell(row.module, "c"),
        ]
    )


def _lines(trace: Trace) -> str:
    made = []
    for blocks in files(trace, UNICODE.arrow):
        rows = []
        for block in blocks:
            place, name = escape(block.place), escape(block.name)
            title = f'{place} <span class="soft">{name}</span>'
            rows.append(f'<td colspan="4" class="file">{title}</td>')
            rows += [_line(row) for row in block.rows]
        made.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    return "".join(made)


def _line(row: LineRow | None) -> str:
    if row is None:
        return f'<td class="n g">{UNICODE.gap}</td><td></td><td></td><td></td>'
    fact = _cell(row.wrong, "e") if row.wrong else _cell(row.fact, "s")
    number = f'<td class="n g">{row.number}</td>'
    return f"{number}{_cell(row.code)}{fact}{_cell(row.often, 'g')}"


def _finding(finding: Finding, trace: Trace) -> str:
    terminal = Terminal(width=120)
    lines = "\n".join(
        "".join(_segments(line)) for line in finding_lines(finding, trace, terminal)
    )
    return f'<div class="finding {finding.severity}"><pre>{lines}</pre></div>'


def _segments(line: Line) -> Iterator[str]:
    kinds = {"error": "e", "warning": "w", "note": "c", "edge": "g", "dim": "soft"}
    for text, style in line:
        kind = kinds.get(style)
        inner = escape(text)
        yield f'<span class="{kind}">{inner}</span>' if kind else inner


def _totals(trace: Trace, totals: Totals) -> str:
    rows = (
        f'{_cell(label, "soft")}<td style="white-space:normal">{escape(text)}</td>'
        for label, text in totals_rows(trace, totals)
    )
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _notes(trace: Trace) -> str:
    lines = [("assumed", each.message.removeprefix("assumed "), each.span)
             for each in trace.assumptions]  # fmt: skip
    lines += [("note", note, None) for note in trace.notes]
    if not lines:
        return ""
    made = "".join(
        f'<div><span class="w">{kind}</span> {escape(text)}'
        + (f' <span class="soft">{escape(str(span))}</span>' if span else "")
        + "</div>"
        for kind, text, span in lines
    )
    return f'<div class="notes">{made}</div>'


def _footer(trace: Trace, totals: Totals) -> str:
    return (
        f"<footer>traced in {formatting.duration(trace.seconds)} with no data; a real "
        "run would have allocated "
        f"<b>{formatting.nbytes(totals.real_bytes)}</b></footer>"
    )
