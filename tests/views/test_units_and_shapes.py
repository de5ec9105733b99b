"""Numbers and shapes as a person reads them."""

import pytest

from shapewright.record import Fact
from shapewright.views import formatting


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (999, "999"), (1000, "1.0 k"), (61_706, "61.7 k"),
        (999_949, "999.9 k"), (999_950, "1.0 M"), (124_439_808, "124.4 M"),
        (405_853_388_800, "405.9 G"), (10**30, "1000000.0 Y"),
    ],
)  # fmt: skip
def test_counts(number: int, text: str) -> None:
    assert formatting.format_count(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (19_267_584, "18.4 MiB"),
        (1024**2 - 1, "1.0 MiB"), (3 * 2**29, "1.5 GiB"), (2**60, "1.0 EiB"),
    ],
)  # fmt: skip
def test_bytes(number: int, text: str) -> None:
    assert formatting.format_nbytes(number) == text


def test_flops() -> None:
    assert formatting.format_flops(32_228_179_968) == "32.2 GFLOPs"
    assert formatting.format_flops(640) == "640 FLOPs"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.00042, "420 us"), (0.0042, "4.2 ms"), (0.318, "318 ms"), (1.34, "1.3 s"),
        (125, "2 min 5 s"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert formatting.format_duration(seconds) == text


def fact(*shape: int, dtype: str = "float32", **more) -> Fact:
    return Fact(shape, dtype, None, **more)


def test_shapes_read_as_tuples() -> None:
    assert formatting.format_shape(fact()) == "()"
    assert formatting.format_shape(fact(10)) == "(10,)"
    assert formatting.with_dtype(fact(2, 3, dtype="int64")) == "(2, 3) i64"
    assert (
        formatting.format_shape(fact(2, 3, layout="sparse_coo")) == "(2, 3) sparse_coo"
    )


def test_nests_fold_equal_neighbours_and_say_one_dtype_once() -> None:
    cache = [fact(2, 12, 16, 64)] * 12
    assert formatting.format_nest(cache) == "[12 x (2, 12, 16, 64)] f32"
    assert formatting.format_nest((fact(8, 10), 8)) == "((8, 10), 8) f32"
    assert formatting.format_nest((fact(8, 10),)) == "((8, 10),) f32"
    assert (
        formatting.format_nest((fact(2), fact(2, dtype="bool")))
        == "((2,) f32, (2,) bool)"
    )
    assert formatting.format_nest({"a": fact(1), "b": None}) == "{a: (1,), b: None} f32"
    assert formatting.format_nest(None) == "None"
    assert formatting.format_nest("x" * 99) == "'" + "x" * 20 + "..."


def test_several_results() -> None:
    assert formatting.format_results([fact(1, 768)] * 3) == "3 x (1, 768) f32"
    assert formatting.format_results([fact(1), fact(2)]) == "(1,), (2,) f32"
    assert (
        formatting.format_results([fact(5), fact(5, dtype="int64")])
        == "(5,) f32, (5,) i64"
    )
    assert formatting.format_results([]) == ""


def test_plain_values() -> None:
    assert formatting.format_value(slice(1, None)) == "1:"
    assert formatting.format_value(slice(None, -1, 2)) == ":-1:2"
    assert formatting.format_value(...) == "..."
    assert formatting.format_value("a\nb") == r"'a\nb'"
