"""Finding modules, ops and lines by what the user calls them."""

import pytest

import traces
from shapewright.record import NotInTrace


def test_a_module_by_its_path() -> None:
    trace = traces.gpt()
    assert trace.module("h.3.attn.c_attn").output.shape == (1, 128, 2304)
    assert trace.module("").class_name == "GPT"
    assert trace.modules is trace.calls


def test_a_module_called_twice_has_two_calls() -> None:
    trace = traces.lenet()
    assert trace.module("pool").output.shape == (1024, 6, 14, 14)
    assert trace.module("pool", call=2).output.shape == (1024, 16, 5, 5)
    with pytest.raises(NotInTrace, match=r"`pool` was called 2 times: .* no call 3"):
        trace.module("pool", call=3)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("conv11", "no module `conv11` was called; close: `conv1`, `conv2`"),
        ("zzz", "no module `zzz` was called; the run called `conv1`, `pool`, "
         "`conv2`, `fc1`, `fc2`, `fc3`"),
    ],
)  # fmt: skip
def test_an_unknown_path_lists_what_there_is(path: str, says: str) -> None:
    with pytest.raises(KeyError) as caught:
        traces.lenet().module(path)
    assert str(caught.value) == says


def test_a_container_and_an_uncalled_module_say_so() -> None:
    with pytest.raises(NotInTrace, match=r"`h` itself was not called; inside it were"):
        traces.gpt().module("h")
    with pytest.raises(NotInTrace, match=r"`aux` was not called in this run"):
        traces.twice().module("aux")


def test_patterns() -> None:
    trace = traces.gpt()
    assert len(trace.find("h.*.mlp")) == 12
    assert [made.path for made in trace.find("h.11.ln_?")] == ["h.11.ln_1", "h.11.ln_2"]
    assert trace.find("nothing.*") == ()


def test_ops_by_index_name_and_module() -> None:
    trace = traces.lenet()
    assert trace.op(0).name == "F.conv2d"
    assert trace.op("F.linear", nth=2).outputs[0].shape == (1024, 84)
    assert trace.op("linear", module="fc3").outputs[0].shape == (1024, 10)
    with pytest.raises(NotInTrace, match=r"no op 12: the trace has ops 0 to 11"):
        trace.op(12)
    with pytest.raises(NotInTrace, match=r"`linear` ran 3 times"):
        trace.op("linear", nth=4)
    with pytest.raises(NotInTrace, match=r"no op `F.linea` ran; close: `F.linear`"):
        trace.op("F.linea")


def test_ops_of_a_line() -> None:
    trace = traces.lenet()
    names = [op.name for op in trace.line(20)]
    assert names == ["F.conv2d", "F.relu", "F.max_pool2d"]
    assert trace.line(20, "lenet.py") == trace.line(20)
    assert trace.line(20, "net.py") == ()
    assert trace.line(1) == ()
