"""A trace in a notebook: self-contained, escaped, complete."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import torch

import shapewright as sw
import traces
from shapewright.views.notebook import MOST_ROWS, format_html

VOID = {"meta", "br", "img", "input", "link"}


class Page(HTMLParser):
    """Fails on a tag that closes another; keeps tags, text and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


@pytest.mark.parametrize("name", traces.ALL)
def test_one_block_that_needs_nothing_from_outside(name: str) -> None:
    text = format_html(traces.ALL[name]())
    page = Page(text)
    assert text.startswith('<div class="shapewright">')
    assert "script" not in page.tags
    assert not {"src", "href", "onclick"} & {key for key, _ in page.attributes}
    assert "http" not in text
    assert "url(" not in text
    assert "@import" not in text


def test_it_says_what_the_terminal_says() -> None:
    said = Page(format_html(traces.gpt())).text
    for part in (
        "gpt.py:GPT", "124.4 M", "32.2 GFLOPs", "16.1 G multiply-adds", "h.0 - 11",
        "Block x 12", "(38.6 M)", "(1, 128, 50257) f32", "view of op 5",
        "q, k, v = self.c_attn(x).split(C, dim=2)",
        "a real run would have allocated 586.2 MiB",
    ):  # fmt: skip
        assert part in said


def test_findings_stand_first_and_the_run_is_called_incomplete() -> None:
    said = Page(format_html(traces.failed())).text
    assert "did not reach its end" in said
    assert said.index("error[inner-dim-mismatch]") < said.index("parameters")
    assert "^^^^^^^^^^^" in said


def test_assumptions_and_notes_are_shown() -> None:
    said = Page(format_html(traces.nested())).text
    assert "every expert gets T*k/E tokens decoder.py:3:18" in said
    assert "ran uncompiled" in said


def test_what_the_program_is_called_cannot_become_markup() -> None:
    nasty = "<script>alert('x')</script>&amp;\"'"
    trace = traces.failed()
    finding = replace(trace.findings[0], message=nasty, torch_message=nasty)
    calls = tuple(replace(call, class_name=nasty) for call in trace.calls)
    ops = tuple(replace(op, name=nasty, module=nasty) for op in trace.ops)
    source = replace(trace.sources["model.py"], text=f"# {nasty}\n" * 30)
    trace = replace(
        trace, target=nasty, findings=(finding,), calls=calls, ops=ops, notes=(nasty,),
        letters={nasty: 3}, sources={"model.py": source},
    )  # fmt: skip
    page = Page(format_html(trace))
    assert "script" not in page.tags
    assert nasty in "".join(page.said)


def test_light_and_dark() -> None:
    text = format_html(traces.lenet())
    assert "prefers-color-scheme: dark" in text
    assert 'data-jp-theme-light="false"' in text
    assert "DARK" not in text


def test_long_traces_are_cut_and_say_so() -> None:
    trace = traces.gpt(80)
    page = Page(format_html(trace))
    assert f"and {len(trace.ops) - MOST_ROWS:,} more" in page.text


def test_a_trace_shows_itself() -> None:
    trace = traces.lenet()
    assert trace._repr_html_() == format_html(trace)
    bundle = trace._repr_mimebundle_()
    assert bundle["text/html"] == format_html(trace)
    assert bundle["text/plain"] == str(trace)


def test_rules_win_over_those_of_a_notebook() -> None:
    """JupyterLab's own for tables and lists have two classes and a name."""
    style = format_html(traces.ALL["lenet"]()).partition("<style>")[2]
    style = style.partition("</style>")[0]
    rules = re.findall(r"([^{}@]+)\{", re.sub(r"@media[^{]*\{", "", style))
    assert len(rules) > 30
    for rule in rules:
        for selector in rule.split(","):
            assert selector.count(".shapewright") >= 3, selector


def test_reports_and_solutions_have_cards() -> None:
    net = torch.nn.Linear(4, 2)
    good = sw.check(net, "f32[3, 4]")._repr_html_()
    bad = sw.check(net, "f32[3, 5]")._repr_html_()
    sizes = sw.solve(net, "f32[B, 4]")._repr_html_()
    assert good is not None
    assert "no findings" in good
    assert bad is not None
    assert '<span class="e">error[inner-dim-mismatch]' in bad
    assert "<span>1 error</span>" in bad
    assert sizes is not None
    assert "every size that was tried" in sizes
    for card in (good, bad, sizes):
        assert card.startswith('<div class="shapewright">')
        assert "\x1b" not in card
        assert card.count("<span") == card.count("</span>")
