"""What holds for every page: widths, folding, colours, ASCII, nested outputs."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import traces
from shapewright.program.spans import Span
from shapewright.record import Fact, Trace
from shapewright.views.formatting import UNICODE, Terminal, count_cells, render_lines
from shapewright.views.terminal import format_trace
from shapewright.views.terminal.columns import Column, format_table

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def body(page: str) -> list[str]:
    """The lines of the table, between the first blank line and the second."""
    return page.split("\n\n")[1].splitlines()


@pytest.mark.parametrize("by", ["module", "op", "line"])
@pytest.mark.parametrize("name", traces.ALL)
@pytest.mark.parametrize("width", [50, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(name: str, by: str, width: int) -> None:
    page = format_trace(traces.ALL[name](), by, width)
    findings = [line for line in page.splitlines() if "torch says" in line]
    rest = [line for line in page.splitlines() if line not in findings]
    if name == "failed" or width == 50:
        rest = body(page)
    assert max(map(count_cells, rest)) <= width


@pytest.mark.parametrize("by", ["module", "op", "line"])
def test_no_width_means_one_hundred_columns(by: str) -> None:
    assert format_trace(traces.gpt(), by) == format_trace(traces.gpt(), by, 100)


@pytest.mark.parametrize("by", ["module", "op", "line"])
@pytest.mark.parametrize("name", traces.ALL)
def test_colour_changes_no_text(name: str, by: str) -> None:
    trace = traces.ALL[name]()
    coloured = format_trace(trace, by, 100, colour=True)
    assert "\x1b[" in coloured
    assert COLOUR.sub("", coloured) == format_trace(trace, by, 100)
    assert "\x1b" not in format_trace(trace, by, 100)


@pytest.mark.parametrize("by", ["module", "op", "line"])
@pytest.mark.parametrize("name", traces.ALL)
def test_ascii_pages_are_ascii(name: str, by: str) -> None:
    assert format_trace(traces.ALL[name](), by, 80, unicode=False).isascii()


def test_equal_blocks_are_one_row_with_their_number() -> None:
    rows = body(format_trace(traces.gpt(), "module", 120))
    (folded,) = [row for row in rows if "h.0 - 11" in row]
    assert "Block x 12" in folded
    assert "12 x 7.1 M" in folded
    assert "12 x 1.9 G" in folded
    assert not any("h.1 " in row for row in rows)


def test_a_block_that_differs_is_not_folded_away() -> None:
    trace = traces.gpt(6)
    odd = trace.module("h.3.mlp.c_fc")
    calls = list(trace.calls)
    calls[odd.index] = replace(odd, output=Fact((1, 128, 3000), "float32", None))
    rows = body(format_trace(replace(trace, calls=tuple(calls)), "module", 120))
    labels = [row.split("  ")[0] for row in rows if "h." in row]
    assert labels == ["├─ h.0 - 2", "├─ h.3", "├─ h.4 - 5"]
    assert sum("3000" in row for row in rows) == 1


def test_called_twice_is_shown_twice_and_counted_once() -> None:
    rows = body(format_trace(traces.twice(), "module", 100))
    first, second = [row for row in rows if "tower" in row]
    assert " 2.1 k " in first
    assert "tower (call 2)" in second
    assert "(2.1 k)" in second


def test_many_equal_calls_fold() -> None:
    rows = body(format_trace(traces.twice(), "module", 100))
    (row,) = [row for row in rows if "cell" in row]
    assert "cell (calls 1 - 50)" in row
    assert "50 x 65.5 k" in row
    assert " 4.1 k " in row


def test_tied_parameters_stand_in_parentheses() -> None:
    page = format_trace(traces.gpt(), "module", 100)
    assert "(38.6 M)" in page
    assert "tied, counted once: `lm_head.weight` is" in page


def test_nested_outputs_are_folded_and_said_in_full_below() -> None:
    page = format_trace(traces.nested(), "module", 80)
    said = " ".join(page.split())
    assert (
        "output {hidden: (2, 16, 768), cache: ([12 x (2, 12, 16, 64)], None), "
        "scale: 0.5} bf16" in said
    )
    assert "assumed      every expert gets T*k/E tokens at decoder.py:3, 12 times" in (
        page
    )
    assert "`torch.compile`d module `decoder` ran uncompiled" in page


def test_a_broken_run_says_where_and_what_did_not_return() -> None:
    page = format_trace(traces.failed(), "module", 80)
    assert page.count("did not return") == 2
    assert (
        "error[inner-dim-mismatch]: linear needs 256 input features, got 400\n"
        "  --> model.py:23:20  in `fc1` (Linear)\n"
        "   │\n"
        "23 │         x = F.relu(self.fc1(x))\n"
        "   │                    ^^^^^^^^^^^\n"
        "   │\n"
        "   = 256 is `in_features` of `fc1`, at line 15\n"
    ) in page
    assert "incomplete: the program did not reach its end" in page


def test_the_line_of_a_finding_is_marked() -> None:
    page = format_trace(traces.failed(), "line", 80)
    (line,) = [line for line in page.splitlines() if line.startswith("  23 │")]
    assert line.endswith("error[inner-dim-mismatch]")


def test_torch_is_not_quoted_when_it_says_the_same() -> None:
    trace = traces.failed()
    same = replace(
        trace.findings[0], torch_message="RuntimeError: " + trace.findings[0].message
    )
    page = format_trace(replace(trace, findings=(same,)), "module", 80)
    assert "torch says" not in page


def test_a_span_without_its_source_still_has_its_place() -> None:
    trace = replace(traces.failed(), sources={})
    page = format_trace(trace, "module", 80)
    assert "--> model.py:23:20" in page
    assert "^^^" not in page
    assert "F.conv2d" in format_trace(trace, "op", 80)
    assert "(1024, 120)" in format_trace(
        replace(traces.lenet(), sources={}), "line", 80
    )


def test_the_last_line_says_the_time_and_what_was_saved() -> None:
    for by in ("module", "op", "line"):
        last = format_trace(traces.lenet(), by).splitlines()[-1]
        assert last == (
            "traced in 4.2 ms with no data; a real run would have allocated 57.3 MiB"
        )


def test_views_name_what_they_look_at() -> None:
    rows = body(format_trace(traces.gpt(), "op", 200))
    split, view = rows[7], rows[8]
    assert "Tensor.split(768, dim=2)" in split
    assert "view of op 5" in split
    assert "3 x (1, 128, 768) f32" in split
    assert "Tensor.view(1, 128, 12, 64)" in view
    assert "(294912, 2304, 64, 1)" in view
    assert "copy" in next(row for row in rows if "Tensor.reshape" in row)


def test_a_trace_without_ops_or_calls_is_a_page_too() -> None:
    empty = Trace("nothing.py", (), (), (), None)
    for by in ("module", "op", "line"):
        assert "a real run would have allocated 0 B" in format_trace(empty, by)


def test_a_function_without_modules_shows_its_ops() -> None:
    page = format_trace(traces.nested(), "module", 100)
    assert "Tensor.transpose" in page


def test_printing_a_trace_uses_the_view() -> None:
    trace = traces.lenet()
    assert str(trace) == format_trace(trace, "module")
    assert str(replace(trace, view="op")) == format_trace(trace, "op")


def test_a_wide_target_does_not_widen_the_page() -> None:
    trace = replace(traces.lenet(), letters={f"L{i}": i for i in range(40)})
    assert max(map(len, format_trace(trace, "module", 80).splitlines())) <= 80


def test_wide_letters_count_twice() -> None:
    source = "def f(x):\n    名前 = x + 1; y = x * 2\n"
    run = traces.Run("f.py", source)
    x = run.tensor((2, 3))
    with run.call("", "f", x) as result:
        run.op("+", [x], (2, 3), "x + 1")
        result.append(run.op("*", [x], (4, 5), "x * 2"))
    page = format_trace(run.trace("f.py:f", result[0]), "line", 80)
    assert "名前 = x + 1; y = x * 2  (2, 3) f32, (4, 5) f32" in page


def test_views_load_neither_torch_nor_rich(tmp_path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(traces.lenet().to_json(), encoding="utf-8")
    program = (
        "import sys; from shapewright.record import Trace; "
        "from shapewright.views.terminal import format_trace; "
        f"format_trace(Trace.from_json(open({str(path)!r}, encoding='utf-8').read())); "
        "print([m for m in ('torch', 'rich', 'pygments') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_record_read_back_prints_the_same() -> None:
    for name, make in traces.ALL.items():
        again = Trace.from_json(json.dumps(json.loads(make().to_json())))
        for by in ("module", "op", "line"):
            assert format_trace(again, by) == format_trace(make(), by), name


letters = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=30)


@given(st.lists(st.tuples(letters, letters, letters), max_size=6), st.integers(30, 90))
def test_any_table_keeps_its_width_and_rows(rows, width) -> None:
    columns = [
        Column("first", [row[0] for row in rows], 6),
        Column("second", [row[1] for row in rows], 9, 0, right=True),
        Column("third", [row[2] for row in rows], 4, tail=True),
    ]
    if all(column.empty for column in columns):
        return
    lines = format_table([columns], Terminal(width, glyphs=UNICODE))
    assert len(lines) == len(rows) + 1
    for line in render_lines(lines, False).split("\n"):
        assert count_cells(line) <= width


def test_multi_line_expressions_are_marked_to_the_line_end() -> None:
    trace = traces.failed()
    finding = replace(trace.findings[0], span=Span("model.py", 23, 13, 24, 20))
    page = format_trace(replace(trace, findings=(finding,)), "module", 80)
    assert "   │             ^^^^^^^^^^^^^^^^^^^\n" in page


def test_a_program_without_modules_shows_its_first_ops_and_counts_the_rest():
    import shapewright as sw

    def many(x):
        for _ in range(100):
            x = x + 1
        return x

    shown = str(sw.trace(many, "f32[2, 3]"))
    assert "and 60 more ops; `--by op` shows all" in shown
    assert len(shown.splitlines()) < 60


def test_a_program_that_did_not_begin_shows_its_error_and_nothing_else():
    from shapewright.findings import Finding
    from shapewright.record import Trace
    from shapewright.views.terminal import format_trace

    error = Finding("program-error", "error", "`NameError`: name 'x' is not defined")
    page = format_trace(
        Trace("m.py:Net", (), (), (), None, findings=(error,), complete=False)
    )
    assert page.splitlines() == [
        "error[program-error]: `NameError`: name 'x' is not defined",
        "",
        "nothing was traced: the program did not start",
    ]
