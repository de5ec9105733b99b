"""Drawings of calls as SVG: well formed, self-contained, and true to the call."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import shapewright as sw
from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.views.drawing.drawing import Drawing

SVG = "{http://www.w3.org/2000/svg}"
GATHER = "torch.gather(f32[4, 6], 0, i64[2, 6])"
CALLS = [
    GATHER,
    "torch.gather(f32[4, 4, 6], dim=0, index=i64[1, 4, 6])",
    "torch.scatter_add(f32[4, 60], 0, i64[3, 60], f32[3, 60])",
    "torch.gather(f32[300, 600], 1, i64[300, 2])",
    "torch.gather(f32[0, 6], 0, i64[0, 6])",
    "torch.gather(f32[4, 6], 0, f32[2, 6])",
    "torch.linalg.inv(f32[3, 3])",
    "f32[4, 6]",
    "f32[3000, 3000]",
]


def drawn(drawing: Drawing, width: float = 760) -> ElementTree.Element:
    return ElementTree.fromstring(drawing.svg(width))


def said(root: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def marked(root: ElementTree.Element, kind: str) -> int:
    """Cells of a kind; one more stands in the legend."""
    every = [node.get("class") for node in root.iter(f"{SVG}rect")]
    return every.count(f"sw-{kind}") - 1


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("width", [400, 760])
def test_valid_and_self_contained_and_nothing_leaves_the_page(
    call: str, width: int
) -> None:
    drawing = sw.explain(call)
    root = drawn(drawing, width)
    assert root.tag == f"{SVG}svg"
    assert root.get("width") == str(width)
    high = float(root.get("height", "0"))
    for node in root.iter():
        assert not {"href", "src", "id"} & set(node.attrib)
        if node.tag in (f"{SVG}text", f"{SVG}rect"):
            assert 0 <= float(node.get("x", "0")) <= width
            assert 0 <= float(node.get("y", "0")) <= high
        if node.tag == f"{SVG}text" and "sw-mono" in node.get("class", ""):
            part = {"end": 0.0, "middle": 0.5}.get(node.get("text-anchor", ""), 1.0)
            long = len(node.text or "") * 0.6 * float(node.get("font-size", "0"))
            assert float(node.get("x", "0")) + part * long <= width
    assert "url(" not in drawing.svg()
    assert "@import" not in drawing.svg()


def test_a_gather_with_its_formula_its_marks_and_its_arrow() -> None:
    root = drawn(sw.explain(GATHER))
    lines = said(root)
    assert lines[0] == GATHER
    for part in (
        "-> out    (2, 6) float32",
        "out[i, j] = input[index[i, j], j]",
        "new storage: 12 elements are written",
        "checked: equal to torch at 12 elements",
    ):
        assert part in lines
    assert any(
        re.match(r"out\[1, 3\] = \d+ reads input\[\d, 3\] = \d+", x) for x in lines
    )
    assert [marked(root, kind) for kind in ("read", "where", "out")] == [1, 1, 1]
    paths = [node.get("class") for node in root.iter(f"{SVG}path")]
    assert paths.count("sw-arrow") == 1


def test_marks_do_not_rely_on_colour_alone() -> None:
    sheet = next(drawn(sw.explain(GATHER)).iter(f"{SVG}style")).text or ""
    assert ".sw-cell,.sw-frame{stroke-width:1}" in sheet
    assert ".sw-read,.sw-out{stroke-width:2.5}" in sheet
    assert ".sw-where{stroke-width:2;stroke-dasharray:4 2}" in sheet
    assert "@media (prefers-color-scheme:dark)" in sheet


def test_it_can_be_read_aloud() -> None:
    root = drawn(sw.explain(GATHER))
    assert root.get("role") == "img"
    assert [root[0].tag, root[0].text] == [f"{SVG}title", GATHER]
    assert root[1].tag == f"{SVG}desc"
    assert "reads input[" in (root[1].text or "")


def test_what_is_left_out_is_said() -> None:
    lines = said(drawn(sw.explain("torch.index_select(f32[30, 100], 0, i64[3])")))
    assert any(re.fullmatch(r"… rows \d+ to \d+ of 30", line) for line in lines)
    assert any(re.fullmatch(r"… columns \d+ to \d+ of 100", line) for line in lines)
    slices = "torch.gather(f32[4, 4, 6], dim=0, index=i64[1, 4, 6])"
    assert "… 3 other slices" in said(drawn(sw.explain(slices)))


def test_many_reads_are_marked_without_arrows_and_those_not_shown_are_counted() -> None:
    index = torch.zeros(40, 2, dtype=torch.long)
    call = sw.explain(torch.scatter_add, torch.zeros(3, 2), 0, index, torch.ones(40, 2))
    root = drawn(call)
    assert "sw-arrow" not in {node.get("class") for node in root.iter(f"{SVG}path")}
    assert "… rows 0 to 7 of 40" in said(root)
    assert "… 32 more marked, not shown" in said(root)
    assert "… 32 more marked, not shown" in str(call)


def test_a_call_that_torch_refuses_says_so() -> None:
    lines = said(drawn(sw.explain("torch.gather(f32[4, 6], 0, f32[2, 6])")))
    assert "torch: gather(): Expected dtype int32/int64 for index" in lines


def test_what_has_no_map_says_why() -> None:
    lines = said(drawn(sw.explain(torch.matrix_exp, torch.eye(3))))
    assert "-> out  (3, 3) float32" in lines
    assert "not drawn: no formula is known for `torch.matrix_exp`" in lines


def test_an_empty_output_is_not_called_too_large() -> None:
    empty = sw.explain("torch.gather(f32[0, 6], 0, i64[0, 6])")
    assert "out has no elements" in said(drawn(empty))
    assert "out has no elements" in str(empty)


def test_text_is_escaped() -> None:
    side = Side("a<b>&", (2,), "float32")
    wild = Drawn('f("<&>")\x00\x1b', "f", (side,), error="it's <b>\ud800")
    root = drawn(Drawing(wild))
    assert said(root)[0] == 'f("<&>")\ufffd\ufffd'
    assert "   a<b>&  (2,) float32" in said(root)
    assert "torch: it's <b>\ufffd" in said(root)


def test_a_notebook_gets_svg_in_the_colours_of_its_theme() -> None:
    drawing = sw.explain(GATHER)
    assert drawing._repr_svg_() == drawing.svg()
    html = drawing._repr_html_()
    assert drawing.svg() in html
    assert '[data-jp-theme-light="true"] .sw-back{fill:#ffffff}' in html
    assert '[data-jp-theme-light="false"] .sw-back{fill:#0d1117}' in html
    rules = re.sub(r"@media[^{]*\{|\}", "\n", html.partition("<style>")[2])
    names = re.findall(r"\.([a-z-]+)", rules.partition("</style>")[0])
    assert {name[:3] for name in names} == {"sw-"}  # nothing of the page is painted


def test_text_is_as_wide_as_asked_and_plain_on_request() -> None:
    drawing = sw.explain(torch.gather, torch.ones(4, 60), 1, torch.ones(4, 2).long())
    assert str(drawing) == drawing.text(80)
    assert max(map(len, str(drawing).splitlines())) <= 80
    assert max(map(len, drawing.text(60).splitlines())) <= 60
    assert drawing.text(ascii=True).isascii()


def test_saving_goes_by_the_ending(tmp_path: Path) -> None:
    drawing = sw.explain(GATHER)
    drawing.save(tmp_path / "gather.svg")
    assert (tmp_path / "gather.svg").read_text("utf-8") == drawing.svg()
    drawing.save(str(tmp_path / "gather.txt"))
    assert str(drawing) in (tmp_path / "gather.txt").read_text("utf-8")
    with pytest.raises(ValueError, match=r"written to \.svg, \.png or \.txt"):
        drawing.save(tmp_path / "gather")
    assert not (tmp_path / "gather").exists()


def test_of_several_outputs_one_is_pictured_and_it_says_which() -> None:
    call = sw.explain("torch.split(f32[12, 4], 2)")
    for lines in (said(drawn(call)), str(call).splitlines()):
        assert "the picture is of out.0; 3 more outputs are not shown" in lines


def test_a_grid_that_is_alone_has_the_whole_width() -> None:
    lines = said(drawn(sw.draw(torch.arange(27.0).view(3, 9) / 7), 760))
    assert not any(line.startswith("… columns") for line in lines)


CHAIN = "f32[2, 32].view(2, 8, 4).transpose(1, 2).reshape(2, 32)"


def test_a_chain_shows_each_step_with_its_strides() -> None:
    root = drawn(sw.explain(CHAIN))
    lines = said(root)
    assert lines[0] == CHAIN
    rows = [line.split() for line in lines[1:5]]
    assert [row[0] for row in rows] == [
        "f32[2,", ".view(2,", ".transpose(1,", ".reshape(2,"
    ]  # fmt: skip
    assert all("strides" in row for row in rows)
    steps = [line for line in lines[5:] if line.startswith("f32[2, 32].view")]
    assert steps[-1] == CHAIN
    assert len(steps) == 3
    assert sum(line.startswith("checked: equal to torch") for line in lines) == 3
    assert "reads input[" in (root[1].text or "")


def test_a_chain_ends_at_the_step_that_torch_refuses() -> None:
    lines = said(drawn(sw.explain("torch.arange(12).view(3, 4).t().view(12)")))
    assert any(line.split()[-1] == "refused" for line in lines[1:5])
    assert any(line.startswith("torch: view size is not") for line in lines)
