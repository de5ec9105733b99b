"""The record survives JSON, follows its published schema, and says what is wrong."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import traces
from shapewright.record import Fact, Trace, UnreadableTrace
from shapewright.record.json_writer import schema

VALIDATOR = Draft202012Validator(schema())

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(),
    st.complex_numbers(allow_nan=False),
    st.just(...),
    st.builds(slice, st.none() | st.integers(0, 9), st.integers(), st.none()),
)
sizes = st.lists(st.integers(0, 2**40), max_size=4).map(tuple)
facts = st.builds(
    Fact,
    shape=sizes,
    dtype=st.sampled_from(["float32", "int64", "bool"]),
    stride=st.none() | sizes,
    requires_grad=st.booleans(),
    grad_fn=st.none() | st.just("ReluBackward0"),
    grad_shape=st.none() | sizes,
    tensor=st.integers(0, 9),
    unknown=st.none() | st.text(),
)
nests = st.recursive(
    plain | facts,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.text()), inner)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", traces.ALL)
def test_round_trip_is_equal_and_valid(name: str) -> None:
    trace = traces.ALL[name]()
    text = trace.to_json()
    assert Trace.from_json(text) == trace
    assert Trace.from_json(text.encode()) == trace
    VALIDATOR.validate(json.loads(text))


def test_traces_that_differ_are_not_equal() -> None:
    assert traces.lenet(8) != traces.lenet(9)
    assert traces.lenet() != traces.gpt()
    assert traces.lenet() != "a trace"


@pytest.mark.long
@given(nests)
def test_any_nest_comes_back_as_it_was(nest: object) -> None:
    run = traces.Run("a.py", "x\n")
    trace = run.trace("a.py", nest)
    text = trace.to_json()
    again = Trace.from_json(text).output
    assert again == nest
    assert repr(again) == repr(nest)
    VALIDATOR.validate(json.loads(text))


def test_values_without_a_form_become_their_text() -> None:
    run = traces.Run("a.py", "x\n")
    value = (float("inf"), {1, 2}, object)
    again = Trace.from_json(run.trace("a.py", value).to_json()).output
    assert again == (float("inf"), {1, 2}, "<class 'object'>")


def test_the_schema_is_a_schema_and_rejects_what_is_wrong() -> None:
    Draft202012Validator.check_schema(schema())
    record = json.loads(traces.lenet().to_json())
    record["ops"][0]["kind"] = "magic"
    assert not VALIDATOR.is_valid(record)


def test_facts_stand_once() -> None:
    record = json.loads(traces.lenet().to_json())
    rows = [json.dumps(fact) for fact in record["facts"]]
    assert len(rows) == len(set(rows))
    relu = record["ops"][1]
    assert record["facts"][relu["in"][0]]["shape"] == [1024, 6, 28, 28]


def test_unknown_fields_are_ignored() -> None:
    record = json.loads(traces.twice().to_json())
    record["colour"] = "green"
    for table in ("ops", "calls", "states", "facts"):
        for row in record[table]:
            row["colour"] = "green"
    assert Trace.from_json(json.dumps(record)) == traces.twice()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not a trace"),
        ('{"version": 1, "kind": "report"}', "not a trace"),
        ('{"version": 1, "kind": "trace"}', "it lacks 'files'"),
        ('{"version": "1", "kind": "trace"}', "version '1'"),
    ],
)
def test_what_is_no_trace_gets_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UnreadableTrace, match=says) as caught:
        Trace.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_newer_version_says_what_to_do() -> None:
    record = json.loads(traces.lenet().to_json()) | {"version": 2}
    with pytest.raises(UnreadableTrace) as caught:
        Trace.from_json(json.dumps(record))
    assert str(caught.value) == (
        "this trace has version 2 of the record, written by a newer Shapewright; "
        "this one reads version 1: `pip install --upgrade shapewright`"
    )


def test_a_reference_outside_its_table_is_damage() -> None:
    record = json.loads(traces.lenet().to_json())
    record["ops"][0]["in"] = [99999]
    with pytest.raises(UnreadableTrace, match="damaged"):
        Trace.from_json(json.dumps(record))


def test_ops_are_walked_not_indexed() -> None:
    class Stream(tuple):  # as capture hands them over: cheap to walk only
        def __getitem__(self, place):
            raise AssertionError("indexed")

    whole = traces.lenet()
    lazy = Trace(whole.target, Stream(whole.ops), whole.calls, whole.states, None)
    assert len(json.loads(lazy.to_json())["ops"]) == 12
    assert lazy.totals.ops == 12
    assert len(lazy.line(20)) == 3


def test_reading_a_record_loads_no_torch(tmp_path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(traces.lenet().to_json(), encoding="utf-8")
    program = (
        "import sys; from shapewright.record import Trace; "
        f"t = Trace.from_json(open({str(path)!r}, encoding='utf-8').read()); "
        "print(t.module('fc1').output.shape, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "(1024, 120) False\n"
