"""Traces and reports as CSV and JSON lines, for pandas and spreadsheets, and as
Markdown.

CSV and JSON lines have the rows of `trace.rows()`: plain numbers and a row for every
call, where the table of a terminal rounds and folds. Markdown has the folded rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shapewright.record.rows import MODULE_FIELDS, OP_FIELDS
from shapewright.views.data_formats import build_finding_data
from shapewright.views.formatting import UNICODE
from shapewright.views.table_rows import build_module_rows, build_op_rows
from shapewright.views.terminal.totals import build_totals_rows

if TYPE_CHECKING:
    from shapewright.findings.finding import Finding
    from shapewright.record.report import Report, Skipped
    from shapewright.record.trace import Trace

FINDING_COLUMNS = (
    "target",
    "file",
    "line",
    "column",
    "severity",
    "code",
    "message",
    "fix",
)
"""The columns of a report, with the best fix of each finding."""

Cells = Sequence[object]


def format_traces_csv(traces: Sequence[Trace], by: str) -> str:
    """Return CSV with a header and a row for each module call or, by op, each op.

    Example: ``pandas.read_csv(file).sort_values("params")``. Parameters and FLOPs of a
    call include those of its children, so that the root has the totals.
    """
    fields = OP_FIELDS if by == "op" else MODULE_FIELDS
    rows = (list(row.values()) for row in _iter_rows(traces, by))
    return _format_csv(("target", *fields), rows)


def format_traces_jsonl(traces: Sequence[Trace], by: str) -> str:
    """Return the rows of the CSV as JSON, an object on a line of its own for each."""
    return _format_jsonl(_iter_rows(traces, by))


def format_report_jsonl(report: Report) -> str:
    """Return each finding as JSON on a line of its own, with its target."""
    return _format_jsonl(
        {"target": report.target, **build_finding_data(finding)}
        for finding in report.findings
    )


def _iter_rows(traces: Sequence[Trace], by: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of all traces, each with its target."""
    for trace in traces:
        for row in trace.rows("op" if by == "op" else "module"):
            yield {"target": trace.target, **row}


def _format_jsonl(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def format_report_csv(report: Report) -> str:
    """Return CSV with a header and a row for each finding."""
    return _format_csv(
        FINDING_COLUMNS, (_get_cells(report, finding) for finding in report.findings)
    )


def _format_csv(columns: Cells, rows: Iterable[Cells]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _get_cells(report: Report, finding: Finding) -> Cells:
    span = finding.span
    return (
        report.target,
        span.file if span is not None else "",
        span.line if span is not None else "",
        span.column if span is not None else "",
        finding.severity,
        finding.code,
        finding.message,
        finding.fixes[0].message if finding.fixes else "",
    )


def format_trace_markdown(trace: Trace, by: str) -> str:
    """Return a heading, the table by module or by op, findings, and the totals."""
    totals = trace.totals
    if by == "op" or not trace.calls:
        table = _format_markdown_table(
            ("op", "line", "call", "output", "kind", "FLOPs", "module"),
            (
                (row.index, row.place, row.call, row.output, row.kind, row.flops,
                 row.module)
                for row in build_op_rows(trace)
            ),
        )  # fmt: skip
    else:
        table = _format_markdown_table(
            ("module", "class", "input", "output", "params", "FLOPs", "allocated"),
            (
                (row.tree(UNICODE) + row.label, row.kind, row.input, row.output,
                 row.parameters, row.flops, row.allocated)
                for row in build_module_rows(trace, totals)
            ),
        )  # fmt: skip
    lines = [
        f"- {label}: {text}"
        for label, text in (
            *(
                (
                    f"{finding.severity}[{finding.code}]",
                    _escape(_describe_finding(finding)),
                )
                for finding in trace.findings
            ),
            *(("assumed", _escape(noted.message)) for noted in trace.assumptions),
            *build_totals_rows(trace, totals),
        )
    ]
    return f"### {trace.target}\n\n{table}\n" + "".join(f"{line}\n" for line in lines)


def format_traces_markdown(traces: Sequence[Trace], by: str, summary: str) -> str:
    """Return the traces of a file's definitions, and a summary below them."""
    parts = [format_trace_markdown(trace, by) for trace in traces]
    return "\n".join([*parts, summary])


def format_report_markdown(report: Report) -> str:
    """Return a heading, a table of the findings, and what was not checked."""
    table = _format_markdown_table(
        ("place", "severity", "code", "message", "fix"),
        (
            (
                str(finding.span or ""),
                finding.severity,
                finding.code,
                finding.message,
                finding.fixes[0].message if finding.fixes else "",
            )
            for finding in report.findings
        ),
    )
    if not report.findings:
        chosen = f" {report.chosen}" if report.chosen is not None else ""
        table = f"no findings{chosen}\n"
    return f"### {report.target}\n\n{table}" + _format_skipped(report.skipped)


def _format_skipped(skipped: Sequence[Skipped]) -> str:
    lines = "".join(f"- not checked: {_escape(str(part))}\n" for part in skipped)
    return f"\n{lines}" if lines else ""


def _describe_finding(finding: Finding) -> str:
    return f"{finding.message} ({finding.span})" if finding.span else finding.message


def _format_markdown_table(columns: Sequence[str], rows: Iterable[Cells]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(
        f"| {' | '.join(_escape(str(cell)) for cell in line)} |\n" for line in lines
    )


def _escape(text: str) -> str:
    """Return text for a cell of a table: on one line, without a bar that ends it."""
    return " ".join(text.split("\n")).replace("|", "\\|")
