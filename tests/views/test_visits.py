"""What each line made: visits, loops, helper functions, several values."""

import traces
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Frame
from shapewright.views.source_lines import iter_files


def facts(trace, file: str = "") -> dict[int, tuple[str, int]]:
    """For each shown line with a fact: the fact and how often the line ran."""
    made = {}
    for blocks in iter_files(trace, "->"):
        for block in blocks:
            for row in block.rows:
                if row is not None and row.fact:
                    made[row.number] = (row.fact, row.times)
    return made


def test_a_chain_on_one_line_reads_from_the_inside_out() -> None:
    made = facts(traces.lenet())
    assert made[20] == ("(1024, 6, 28, 28) -> (1024, 6, 14, 14) f32", 1)
    assert made[23] == ("(1024, 120) f32", 1)


def test_the_def_line_shows_what_the_module_got() -> None:
    assert facts(traces.lenet())[19] == ("(1024, 3, 32, 32) f32", 1)
    assert facts(traces.gpt())[19] == ("(1, 128, 768) f32", 12)


def test_lines_of_a_repeated_block_count_its_calls() -> None:
    made = facts(traces.gpt())
    assert made[9] == ("(1, 128, 2304) -> 3 x (1, 128, 768) f32", 12)
    assert made[35] == ("(1, 128, 768) f32", 12)
    assert made[36] == ("(1, 128, 768) f32", 1)


def test_operands_side_by_side_are_not_a_chain() -> None:
    line = facts(traces.gpt())[33][0]
    assert line == "(1, 128, 768), (128, 768) -> (1, 128, 768) f32"


def test_a_loop_of_calls_and_an_in_place_line() -> None:
    made = facts(traces.twice())
    assert made[7] == ("(8, 64) f32", 50)
    assert made[5] == ("(8, 64) f32", 1)


LOOP = """\
def grow(x):
    for step in range(4):
        x = torch.cat([x, x])
    y = twice(x)
    return x.sum(), y


def twice(x):
    return helper(x) + helper(x)


def helper(x):
    return x.reshape(-1).exp().reshape(1, -1)
"""


def grow():
    run = traces.Run("grow.py", LOOP)
    x = run.tensor((1, 2))
    with run.call("", "grow", x):
        for _ in range(4):
            x = run.op("torch.cat", [x, x], (x.shape[0] * 2, 2), "torch.cat([x, x])")
        top = Frame(run.span("twice(x)"), "grow")
        for nth in (1, 2):
            middle = Frame(run.span("helper(x)", nth), "twice")
            for end in ("x.reshape(-1)", ".exp()", ".reshape(1, -1)"):
                whole = "x.reshape(-1).exp().reshape(1, -1)"
                at = whole[: whole.index(end) + len(end)]
                shape = (1, 32) if end.startswith(".re") else (32,)
                inner = Frame(run.span(at), "helper")
                frames = (top, middle, inner)
                x = run.op("op", [x], shape, at, frames=frames)
        run.op("Tensor.sum", [x], (), "x.sum()")
    return run.trace("grow.py:grow", None)


def test_visits_that_differ_show_the_first_and_the_last() -> None:
    assert facts(grow())[3] == ("(2, 2) f32 .. (16, 2) f32", 4)


def test_a_helper_called_twice_on_one_line_has_two_visits() -> None:
    assert facts(grow())[13] == ("(32,) -> (1, 32) f32", 2)


def test_only_functions_that_ran_are_shown() -> None:
    ((block,),) = iter_files(traces.lenet(), "->")
    assert (block.place, block.name) == ("examples/lenet.py:19", "Net.forward")
    assert [row.number for row in block.rows] == list(range(19, 26))


def test_long_stretches_without_tensors_are_left_out() -> None:
    text = "def f(x):\n    y = x + 1\n" + "    a = 1\n" * 9 + "    return y * 2\n"
    run = traces.Run("f.py", text)
    x = run.tensor((2,))
    with run.call("", "f", x) as result:
        y = run.op("+", [x], (2,), "x + 1")
        result.append(run.op("*", [y], (2,), "y * 2"))
    ((block,),) = iter_files(run.trace("f.py:f", result[0]), "->")
    assert [row and row.number for row in block.rows] == [1, 2, None, 12]


def test_loops_and_comprehensions_are_known() -> None:
    text = "for a in b:\n    c\nd\ne = [f for f in g]\nwhile h:\n    i\n"
    assert SourceText("a.py", text).looping_lines == {1, 2, 4, 5, 6}
    assert 1 in SourceText("a.py", "not python (").looping_lines
