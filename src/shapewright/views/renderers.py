"""The table of renderers: what each one shows, in which medium, for which option.

Command lines take their `--format` choices from here, and records print themselves
with it. A renderer imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapewright.record.memory import Memory
    from shapewright.record.report import Report, Skipped
    from shapewright.record.solution import Solution
    from shapewright.record.trace import Trace
    from shapewright.views.drawing.drawing import Drawing

Medium = Literal[
    "text",
    "json",
    "jsonl",
    "github",
    "sarif",
    "csv",
    "markdown",
    "html",
    "svg",
    "png",
    "pickle",
]

ENDINGS = {
    "text": ".txt",
    "github": ".txt",
    "json": ".json",
    "jsonl": ".jsonl",
    "sarif": ".sarif",
    "csv": ".csv",
    "markdown": ".md",
    "html": ".html",
    "svg": ".svg",
    "png": ".png",
    "pickle": ".pickle",
}
"""The ending of a file in a medium."""


@dataclass(frozen=True, slots=True)
class Display:
    """The medium in which a result is shown, and the options of its view.

    `width` in columns, whether to colour, whether it can show `├` and `→`; `by`,
    `depth`, `sort`, `columns` and `gradients` are the options of that name, `inside`
    and `ascii` those of `explain`; `notes` is how many notes a finding has, None for
    all; `version` is ours, for formats that name it.

    Example: ``Display(width=100, color=False)`` when piped, whatever the terminal.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True
    by: Literal["module", "op", "line"] = "module"
    depth: int | None = None
    sort: str = ""
    columns: tuple[str, ...] = ()
    gradients: bool = False
    inside: bool = False
    ascii: bool = False
    notes: int | None = None
    version: str = ""


class _Traces(Protocol):
    """The traces of a script that only has definitions, and what was not traced."""

    @property
    def trace(self) -> Trace: ...
    @property
    def parts(self) -> Sequence[Trace]: ...
    @property
    def skipped(self) -> Sequence[Skipped]: ...


Render = Callable[[Any, Display], Any]
"""Takes the result and a display; returns text, or bytes for a PNG or a pickle."""


@dataclass(frozen=True, slots=True)
class _Renderer:
    """A way to show a result.

    `shows` is "trace", "traces", "report", "story" (a report of `rehearse`),
    "solution", "memory" or "drawing"; `option` the value of `--format`, or the ending
    of a file; `help` its words in the help of a command.
    """

    shows: str
    option: str
    medium: Medium
    render: Render
    help: str = ""


RENDERERS: list[_Renderer] = []
"""All renderers; of a result, the first is the usual one."""


def renders(
    shows: str, option: str, medium: Medium, help: str = ""
) -> Callable[[Render], Render]:
    """Register the decorated function as a renderer.

    Example::

        @renders("report", "csv", "text", "a table")
        def report_csv(report: Report, display: Display) -> str: ...
    """

    def register(render: Render) -> Render:
        assert not any((e.shows, e.option) == (shows, option) for e in RENDERERS)
        RENDERERS.append(_Renderer(shows, option, medium, render, help))
        return render

    return register


def list_renderers(shows: str) -> list[_Renderer]:
    """Return the renderers of a result, the default one first."""
    return [renderer for renderer in RENDERERS if renderer.shows == shows]


def render(shows: str, option: str, result: Any, display: Display) -> Any:
    """Return a result in the format `option`; raise `LookupError` if there is none.

    Example: ``render("report", "json", report, Display())``.
    """
    for renderer in list_renderers(shows):
        if renderer.option == option:
            return renderer.render(result, display)
    raise LookupError(f"no `{option}` of a {shows}")


def _draw_page(title: str, text: str) -> str:
    """Return a page of text in the colours of a terminal as SVG."""
    from shapewright.views.painted_text import draw_painted_text

    return draw_painted_text(title, text)


# -- traces ----------------------------------------------------------------------------


@renders("trace", "text", "text", "a table")
def _render_trace_text(trace: Trace, display: Display) -> str:
    from shapewright.views.terminal import TableOptions, format_trace

    options = TableOptions(display.depth, display.sort, display.columns)
    return format_trace(
        trace, display.by, display.width, display.color, display.unicode, options
    )


@renders("trace", "json", "json", "the versioned record")
def _render_trace_json(trace: Trace, display: Display) -> str:
    return f"{trace.to_json()}\n"


@renders("trace", "jsonl", "jsonl", "rows as JSON lines")
def _render_trace_jsonl(trace: Trace, display: Display) -> str:
    from shapewright.views.portable_tables import format_traces_jsonl

    return format_traces_jsonl([trace], display.by)


@renders("trace", "svg", "svg")
def _render_trace_svg(trace: Trace, display: Display) -> str:
    text = _render_trace_text(trace, replace(display, color=True))
    return _draw_page(trace.target, text)


@renders("trace", "html", "html")
def _render_trace_html(trace: Trace, display: Display) -> str:
    from shapewright.views.notebook import format_html

    return format_html(trace)


@renders("trace", "csv", "csv", "rows as CSV")
def _render_trace_csv(trace: Trace, display: Display) -> str:
    from shapewright.views.portable_tables import format_traces_csv

    return format_traces_csv([trace], display.by)


@renders("trace", "markdown", "markdown", "a Markdown table")
def _render_trace_markdown(trace: Trace, display: Display) -> str:
    from shapewright.views.portable_tables import format_trace_markdown

    return format_trace_markdown(trace, display.by)


@renders("traces", "text", "text")
def _render_traces_text(outcome: _Traces, display: Display) -> str:
    from shapewright.views.data_formats import format_traces_summary

    parts = [_render_trace_text(part, display) for part in outcome.parts]
    target = outcome.trace.target
    return "\n".join(
        [*parts, format_traces_summary(target, outcome.parts, outcome.skipped)]
    )


@renders("traces", "json", "json")
def _render_traces_json(outcome: _Traces, display: Display) -> str:
    from shapewright.views.data_formats import format_traces_json

    target = outcome.trace.target
    return f"{format_traces_json(target, outcome.parts, outcome.skipped)}\n"


@renders("traces", "csv", "csv")
def _render_traces_csv(outcome: _Traces, display: Display) -> str:
    from shapewright.views.portable_tables import format_traces_csv

    return format_traces_csv(outcome.parts, display.by)


@renders("traces", "markdown", "markdown")
def _render_traces_markdown(outcome: _Traces, display: Display) -> str:
    from shapewright.views.data_formats import format_traces_summary
    from shapewright.views.portable_tables import format_traces_markdown

    target, skipped = outcome.trace.target, outcome.skipped
    summary = format_traces_summary(target, outcome.parts, skipped)
    return format_traces_markdown(outcome.parts, display.by, summary)


@renders("traces", "jsonl", "jsonl")
def _render_traces_jsonl(outcome: _Traces, display: Display) -> str:
    from shapewright.views.portable_tables import format_traces_jsonl

    return format_traces_jsonl(outcome.parts, display.by)


@renders("traces", "svg", "svg")
def _render_traces_svg(outcome: _Traces, display: Display) -> str:
    text = _render_traces_text(outcome, replace(display, color=True))
    return _draw_page(outcome.trace.target, text)


@renders("traces", "html", "html")
def _render_traces_html(outcome: _Traces, display: Display) -> str:
    return "\n".join(_render_trace_html(part, display) for part in outcome.parts)


# -- reports ---------------------------------------------------------------------------


@renders("report", "full", "text")
def _report_text(report: Report, display: Display) -> str:
    from shapewright.views.terminal.findings import format_report

    width, unicode = display.width, display.unicode
    return format_report(report, width, display.color, unicode, most=display.notes)


@renders("story", "full", "text")
def _render_story_text(report: Report, display: Display) -> str:
    from shapewright.views.terminal.rehearsal import format_story

    width, unicode = display.width, display.unicode
    return format_story(
        report, width, display.color, unicode, display.gradients, display.notes
    )


@renders("report", "concise", "text", "a line each")
@renders("story", "concise", "text", "a line each")
def _report_concise(report: Report, display: Display) -> str:
    from shapewright.views.data_formats import format_report_lines

    return format_report_lines(report)


@renders("report", "json", "json", "versioned JSON")
@renders("story", "json", "json", "versioned JSON")
def _report_json(report: Report, display: Display) -> str:
    from shapewright.views.data_formats import format_report_json

    return f"{format_report_json(report)}\n"


@renders("report", "jsonl", "jsonl", "findings as JSON lines")
@renders("story", "jsonl", "jsonl", "findings as JSON lines")
def _report_jsonl(report: Report, display: Display) -> str:
    from shapewright.views.portable_tables import format_report_jsonl

    return format_report_jsonl(report)


@renders("report", "github", "github", "commands for GitHub")
@renders("story", "github", "github", "commands for GitHub")
def _report_github(report: Report, display: Display) -> str:
    from shapewright.views.data_formats import format_report_commands

    return format_report_commands(report)


@renders("report", "sarif", "sarif", "SARIF")
@renders("story", "sarif", "sarif", "SARIF")
def _report_sarif(report: Report, display: Display) -> str:
    from shapewright.views.data_formats import format_report_sarif

    return f"{format_report_sarif(report, display.version)}\n"


@renders("report", "csv", "csv", "rows as CSV")
@renders("story", "csv", "csv", "rows as CSV")
def _render_report_csv(report: Report, display: Display) -> str:
    from shapewright.views.portable_tables import format_report_csv

    return format_report_csv(report)


@renders("report", "markdown", "markdown", "a Markdown table")
@renders("story", "markdown", "markdown", "a Markdown table")
def _render_report_markdown(report: Report, display: Display) -> str:
    from shapewright.views.portable_tables import format_report_markdown

    return format_report_markdown(report)


@renders("report", "svg", "svg")
def _render_report_svg(report: Report, display: Display) -> str:
    return _draw_page(report.target, _report_text(report, replace(display, color=True)))


@renders("story", "svg", "svg")
def _render_story_svg(report: Report, display: Display) -> str:
    text = _render_story_text(report, replace(display, color=True))
    return _draw_page(report.target, text)


@renders("report", "html", "html")
@renders("story", "html", "html")
def _report_html(report: Report, display: Display) -> str:
    from shapewright.views.notebook import format_report_html

    page = Display(width=CARD_WIDTH, color=True)
    story = report.rehearsal is not None
    text = _render_story_text(report, page) if story else _report_text(report, page)
    return format_report_html(report, text)


CARD_WIDTH = 110
"""Columns of a page of text in a card of a notebook."""


# -- solutions, memory and drawings ---------------------------------------------------


@renders("solution", "text", "text", "lines")
def _render_solution_text(solution: Solution, display: Display) -> str:
    from shapewright.views.terminal.solution import format_solution

    return format_solution(solution, display.width, display.color, display.unicode)


@renders("solution", "json", "json", "versioned JSON")
def _render_solution_json(solution: Solution, display: Display) -> str:
    from shapewright.views.data_formats import format_solution_json

    return f"{format_solution_json(solution)}\n"


@renders("solution", "svg", "svg")
def _render_solution_svg(solution: Solution, display: Display) -> str:
    text = _render_solution_text(solution, replace(display, color=True))
    return _draw_page(solution.target, text)


@renders("solution", "html", "html")
def _render_solution_html(solution: Solution, display: Display) -> str:
    from shapewright.views.notebook import format_solution_html

    text = _render_solution_text(solution, Display(width=CARD_WIDTH, color=True))
    return format_solution_html(solution, text)


@renders("memory", "text", "text", "lines and bars")
def _render_memory_text(memory: Memory, display: Display) -> str:
    from shapewright.views.terminal.memory import format_memory

    return format_memory(memory, display.width, display.color, display.unicode)


@renders("memory", "json", "json", "versioned JSON")
def _render_memory_json(memory: Memory, display: Display) -> str:
    from json import dumps

    return f"{dumps(memory.to_dict(), indent=2, ensure_ascii=False)}\n"


@renders("memory", "pickle", "pickle")
def _render_memory_pickle(memory: Memory, display: Display) -> bytes:
    from shapewright.views.memory_snapshot import write_snapshot

    return write_snapshot(memory)


@renders("memory", "svg", "svg")
def _render_memory_svg(memory: Memory, display: Display) -> str:
    from shapewright.views.memory_timeline import draw_timeline_svg

    return draw_timeline_svg(memory)


@renders("drawing", ".txt", "text")
def _render_drawing_text(drawing: Drawing, display: Display) -> str:
    plain = display.ascii or not display.unicode
    return f"{drawing.text(display.width, plain, display.inside, display.color)}\n"


@renders("drawing", ".svg", "svg")
def _render_drawing_svg(drawing: Drawing, display: Display) -> str:
    return drawing.svg()


@renders("drawing", ".png", "png")
def _render_drawing_png(drawing: Drawing, display: Display) -> bytes:
    return drawing.png()
