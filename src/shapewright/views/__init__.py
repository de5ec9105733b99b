"""Views of a trace. Importing this enables a trace to print itself, at little cost.

Example: ``print(trace)`` is ``terminal.text(trace)``, and a notebook shows
``notebook.html(trace)``.
"""

from shapewright.record.report import Report
from shapewright.record.report import renderers as report_renderers
from shapewright.record.solution import Solution
from shapewright.record.solution import renderers as solution_renderers
from shapewright.record.trace import Trace, renderers


def _text(trace: Trace) -> str:
    from shapewright.views.terminal import text

    return text(trace, trace.by)  # type: ignore[arg-type]


def _html(trace: Trace) -> str:
    from shapewright.views.notebook import html

    return html(trace)


renderers["text/plain"] = _text
renderers["text/html"] = _html


def _report(report: Report) -> str:
    if report.rehearsal is not None:
        from shapewright.views.terminal import rehearsal

        return rehearsal.text(report)
    from shapewright.views.terminal.findings import text

    return text(report)


report_renderers["text/plain"] = _report


def _solution(solution: Solution) -> str:
    from shapewright.views.terminal.solution import text

    return text(solution)


solution_renderers["text/plain"] = _solution
