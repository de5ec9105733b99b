"""Every spec, written out, reads as itself; no text makes the reader crash."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import Spec, parse_spec
from shapewright.inputs.spec_syntax import DTYPES

SIZES = {"B": 8, "T": 16, "width": 3}

numbers = st.integers(0, 40).map(str)
letters = st.sampled_from(sorted(SIZES))
size = st.recursive(
    numbers | letters,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "*", "%", "//"]), inner).map(
        lambda parts: f"({parts[0]}){parts[1]}(1+{parts[2]})"
    ),
    max_leaves=4,
)
stated = letters.map(lambda name: f"{name}={SIZES[name]}")
suffix = st.sampled_from(["", "@cuda:1", "=ones", "=0", "@mps=zeros", "=3..9"])


@st.composite
def tensors(draw: st.DrawFn) -> str:
    sizes = draw(st.lists(size | stated, max_size=3))
    dtype = draw(st.sampled_from(sorted(DTYPES) + ([""] if sizes else [])))
    return f"{dtype}[{', '.join(sizes)}]{draw(suffix)}"


plain = (
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
).map(repr)


def nests(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(inner, max_size=3)
    pairs = st.lists(st.tuples(st.text(max_size=3), inner), max_size=3, unique_by=first)
    return (
        items.map(lambda found: f"list[{', '.join(found)}]")
        | items.map(lambda found: f"({''.join(each + ', ' for each in found)})")
        | pairs.map(lambda p: "{" + ", ".join(f"{k!r}: {v}" for k, v in p) + "}")
    )


def first(pair: tuple[str, Any]) -> str:
    return pair[0]


inputs = st.recursive(tensors() | plain, nests, max_leaves=5)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    items = draw(st.lists(inputs, max_size=3))
    names = draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=2))
    items += [f"{name}={draw(inputs)}" for name in names]
    return parse_spec("; ".join(items))


@given(specs())
def test_a_spec_written_out_reads_as_itself(spec: Spec) -> None:
    again = parse_spec(str(spec))
    assert again == spec
    assert str(again) == str(spec)


@given(specs(), st.integers(1, 50))
def test_other_sizes_written_out_read_as_themselves(spec: Spec, size: int) -> None:
    other = spec.with_sizes(**dict.fromkeys(spec.letters, size))
    assert parse_spec(str(other)).leaves == other.leaves


@given(st.text("f32i64[](){},;:=@!+-*/%. BT0189'\"\\None", max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        spec = parse_spec(text)
    except InputError as error:
        position = error.position
    else:
        assert parse_spec(str(spec)) == spec or "nan" in str(spec)
        position = 0
    assert position is not None
    assert 0 <= position <= len(text)
