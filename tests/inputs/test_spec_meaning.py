"""What specs mean: shapes, dtypes, letters, nests, values."""

from __future__ import annotations

import pytest

from shapewright.inputs.errors import InputError
from shapewright.inputs.spec import IntegerRange, TensorSpec, parse_spec


def tensor(text: str) -> TensorSpec:
    (leaf,) = parse_spec(text).leaves
    return leaf


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("f32[B=8, 3, H=32, W=32]", (8, 3, 32, 32), "float32"),
        ("[2, 16]", (2, 16), "float32"),
        ("f32[]", (), "float32"),
        ("i64[2,16]", (2, 16), "int64"),
        ("long[2]", (2,), "int64"),
        ("half[2]", (2,), "float16"),
        ("bfloat16[0]", (0,), "bfloat16"),
        ("c64[1_000]", (1000,), "complex64"),
        ("float8_e4m3fn[4]", (4,), "float8_e4m3fn"),
        ("bool[1099511627776]", (2**40,), "bool"),
    ],
)
def test_one_tensor(text: str, shape: tuple[int, ...], dtype: str) -> None:
    leaf = tensor(text)
    assert (leaf.shape, leaf.dtype, leaf.device) == (shape, dtype, "cpu")


@pytest.mark.parametrize(
    ("inside", "size"),
    [
        ("2*B", 16),
        ("B-1", 7),
        ("B//3", 2),
        ("B%3", 2),
        ("B-1-1", 6),
        ("B-(1-2)", 9),
        ("B*2//3*2", 10),
        ("(B+1)*2", 18),
        ("B//2//2", 2),
        ("B + 2*B", 24),
    ],
)
def test_arithmetic_as_in_python(inside: str, size: int) -> None:
    assert tensor(f"f32[B=8, {inside}]").shape == (8, size)


def test_a_letter_is_one_size_everywhere() -> None:
    spec = parse_spec("f32[T-1, B=8], {m: bool[B, T=4]}, T, n=2*T")
    assert [leaf.shape for leaf in spec.leaves] == [(3, 8), (8, 4)]
    assert spec.args[2] == 4
    assert spec.kwargs == {"n": 8}
    assert spec.letters == {"T": 4, "B": 8}
    assert spec.letters_free == ()
    assert spec.leaves[0].letters == ("T-1", "B")


def test_a_letter_without_size_gets_a_representative_one() -> None:
    spec = parse_spec("f32[B, 3, H, W], i64[B=4, S]")
    assert spec.letters == {"B": 4, "H": 64, "W": 64, "S": 16}
    assert spec.letters_free == ("H", "W", "S")
    assert spec.leaves[0].shape == (4, 3, 64, 64)
    assert spec.leaves[0].letters == ("B", None, "H", "W")


def test_other_sizes() -> None:
    spec = parse_spec("f32[B=8, 2*B, T]")
    other = spec.with_sizes(B=3, T=5)
    assert other.leaves[0].shape == (3, 6, 5)
    assert other.letters_free == ()
    assert str(other) == "f32[B=3, 2*B, T=5]"
    assert spec.leaves[0].shape == (8, 16, 16)


def test_other_sizes_that_do_not_work() -> None:
    spec = parse_spec("f32[T=4, T-2]")
    with pytest.raises(InputError) as error:
        spec.with_sizes(T=1)
    assert str(error.value) == (
        "the size `T-2` is -1 at T=1\n  f32[T=4, T-2]\n            ^"
    )
    with pytest.raises(InputError, match="the spec has no letter `Q`"):
        spec.with_sizes(Q=1)
    with pytest.raises(InputError, match="the size -1 of `T` is negative"):
        spec.with_sizes(T=-1)


@pytest.mark.parametrize("comma", [", ", "; ", ",", ";\n"])
def test_several_inputs(comma: str) -> None:
    spec = parse_spec(f"i64[2, 16]{comma}f32[2, 16, 8]{comma}mask=None")
    assert [leaf.name for leaf in spec.leaves] == ["0", "1"]
    assert spec.kwargs == {"mask": None}


def test_nests_keep_their_kind() -> None:
    spec = parse_spec("[f32[2], (f32[3], 'a')], {image: f32[3, 4], 'n': [1.5, -2]}")
    one, two = spec.args
    assert [type(one), type(one[1]), one[1][1]] == [list, tuple, "a"]
    assert two["n"] == [1.5, -2]
    assert [leaf.name for leaf in spec.leaves] == ["0.0", "0.1.0", "1.image"]
    assert [leaf.shape for leaf in spec.leaves] == [(2,), (3,), (3, 4)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("True", True),
        ("-3", -3),
        ("1e-3", 1e-3),
        ("-inf", float("-inf")),
        ("'it''s'".replace("''", "\\'"), "it's"),
        ("(1, 2)", (1, 2)),
        ("(1,)", (1,)),
        ("(1)", 1),
        ("()", ()),
        ("[]", []),
        ("list[1, 2]", [1, 2]),
        ("list[-1]", [-1]),
        ("[True]", [True]),
        ("[(1, 2)]", [(1, 2)]),
        ("{}", {}),
        ("{1: 'a'}", {1: "a"}),
        ("2*3", 6),
    ],
)
def test_plain_values(text: str, value: object) -> None:
    spec = parse_spec(text)
    assert spec.args == (value,)
    assert spec.leaves == ()


def test_brackets_of_sizes_are_a_tensor_inside_a_nest_too() -> None:
    spec = parse_spec("[[1, 2], [B, 3]]")
    assert [leaf.shape for leaf in spec.leaves] == [(1, 2), (2, 3)]
    assert isinstance(spec.args[0], list)


def test_no_inputs() -> None:
    assert (parse_spec("").args, parse_spec(" ").kwargs) == ((), {})


@pytest.mark.parametrize(
    ("written", "device"),
    [("cuda", "cuda:0"), ("cuda:3", "cuda:3"), ("mps", "mps:0"), ("cpu", "cpu")],
)
def test_a_device_is_claimed(written: str, device: str) -> None:
    leaf = tensor(f"f32[2]@{written}!grad")
    assert (leaf.device, leaf.requires_grad) == (device, True)


@pytest.mark.parametrize(
    ("written", "fill"),
    [
        ("i64[2]=ones", "ones"),
        ("f32[2]=zeros@cuda", "zeros"),
        ("i64[2]=arange", "arange"),
        ("i64[2]=0..50257", IntegerRange(0, 50257)),
        ("i64[]=7", 7),
        ("f32[]=-0.5", -0.5),
        ("bool[2]=True", True),
        ("i64[3]=[3, 2, 1]", (3, 2, 1)),
        ("f32[2, 1]=[[0.5], [1]]", ((0.5,), (1,))),
        ("f32[2]", None),
    ],
)
def test_values(written: str, fill: object) -> None:
    assert tensor(written).fill == fill
    assert parse_spec(f"x={written}").kwargs["x"].fill == fill
