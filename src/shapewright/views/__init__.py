"""Views of a trace. Importing this enables a trace to print itself, at little cost.

Example: ``print(trace)`` is ``terminal.text(trace)``, and a notebook shows
``notebook.html(trace)``.
"""

from shapewright.record.memory import Memory
from shapewright.record.memory import renderers as memory_renderers
from shapewright.record.report import Report
from shapewright.record.report import renderers as report_renderers
from shapewright.record.solution import Solution
from shapewright.record.solution import renderers as solution_renderers
from shapewright.record.trace import Trace, table_renderers
from shapewright.record.trace import renderers as trace_renderers
from shapewright.views.renderers import Display, render


def _render_trace(trace: Trace) -> str:
    text: str = render("trace", "text", trace, Display(by=trace.view))  # type: ignore[arg-type]
    return text


def _render_table(
    trace: Trace, depth: int | None, sort: str, columns: tuple[str, ...], width: int
) -> str:
    text: str = render(
        "trace",
        "text",
        trace,
        Display(width, by=trace.view, depth=depth, sort=sort, columns=columns),  # type: ignore[arg-type]
    )
    return text


def _render_html(trace: Trace) -> str:
    html: str = render("trace", "html", trace, Display())
    return html


def _render_report(report: Report) -> str:
    shows = "report" if report.rehearsal is None else "story"
    text: str = render(shows, "full", report, Display())
    return text


def _render_report_html(report: Report) -> str:
    shows = "report" if report.rehearsal is None else "story"
    html: str = render(shows, "html", report, Display())
    return html


def _render_solution_html(solution: Solution) -> str:
    html: str = render("solution", "html", solution, Display())
    return html


def _render_solution(solution: Solution) -> str:
    text: str = render("solution", "text", solution, Display())
    return text


def _render_memory(memory: Memory) -> str:
    text: str = render("memory", "text", memory, Display())
    return text


table_renderers.append(_render_table)
trace_renderers |= {"text/plain": _render_trace, "text/html": _render_html}
report_renderers |= {"text/plain": _render_report, "text/html": _render_report_html}
solution_renderers |= {
    "text/plain": _render_solution,
    "text/html": _render_solution_html,
}
memory_renderers["text/plain"] = _render_memory
