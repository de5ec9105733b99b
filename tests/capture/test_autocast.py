"""dtypes under autocast: those of real runs on the CPU, and of torch's dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves

import shapewright as sw
from shapewright.engine import autocast
from shapewright.record.ops import collect_leaves
from tests.capture.autocast_programs import LAYERS, OPS
from tests.capture.real_runs import Built, check


def of_op(name: str) -> Built:
    torch.manual_seed(0)
    function, makers = OPS[name]

    def program(*given: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return function(*given)

    return program, tuple(make() for make in makers), {}


def of_layer(name: str) -> Built:
    torch.manual_seed(0)
    make, given = LAYERS[name]
    layer = make()

    def program(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x)

    return program, (given(),), {}


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("name", OPS)
def test_calls_have_the_dtypes_of_the_cpu(name: str, known: bool) -> None:
    assert not check(lambda: of_op(name), values=known)


@pytest.mark.parametrize("mode", ["grad", "no_grad"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_dtypes_of_the_cpu(name: str, mode: str) -> None:
    assert not check(lambda: of_layer(name), mode)


# -- CUDA, claimed ---------------------------------------------------------------------


CUDNN = frozenset({"LSTM", "RNN"})
"""A GPU runs these in cuDNN, in the dtype of autocast; the dispatcher alone cannot."""

LOWER, FULL = "bfloat16", "float32"
NO_ORACLE: dict[str, list[tuple[tuple[int, ...], str]]] = {
    "grid_sample_of_halves": [((2, 3, 4, 4), LOWER)],
    "ctc": [((), FULL)],
    "affine_grid": [((4, 5, 5, 2), LOWER)],
    "gru_cell": [((4, 6), LOWER)],
    "ConvBlock": [((2, 2), LOWER)],
    "MultiheadAttention": [((2, 4, 6), LOWER), ((2, 4, 4), FULL)],
    "TransformerEncoderLayer": [((2, 4, 6), FULL)],
    "GRU": [((2, 4, 5), LOWER), ((2, 4, 5), LOWER)],
    "GRUCell": [((4, 5), LOWER)],
}
"""What stands behind these looks for a GPU: what follows from the lists, by hand."""


def computed(function: Callable[..., Any], given: list[Any]) -> Any:
    """The call under autocast for CUDA."""
    with torch.autocast("cuda", dtype=torch.bfloat16), torch.no_grad():
        return function(*given)


def on_cuda(name: str) -> Any:
    """A program that makes its tensors, and its layer, on the GPU."""
    with torch.device("cuda"):
        if name in OPS:
            function, makers = OPS[name]
            return computed(function, [make() for make in makers])
        make_layer, make = LAYERS[name]
        return computed(make_layer(), [make()])


def by_the_dispatcher(name: str) -> Any:
    """The same, on a GPU that only seems to be there."""
    with autocast.claim_cuda_autocast(), FakeTensorMode(), torch.device("cuda"):
        if name in OPS:
            function, makers = OPS[name]
            return computed(function, [make() for make in makers])
        make_layer, make = LAYERS[name]
        with torch.device("meta"):
            layer = make_layer()
        state = {
            key: torch.zeros(value.shape, dtype=value.dtype)
            for key, value in layer.state_dict().items()
        }
        return computed(
            lambda x: torch.func.functional_call(layer, state, (x,)), [make()]
        )


def expected_on_cuda(name: str) -> list[tuple[tuple[int, ...], str]] | str:
    """Shapes and dtypes of what comes out, or the first line of the error."""
    if name in NO_ORACLE:
        return NO_ORACLE[name]
    try:
        out = by_the_dispatcher(name)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    found = [leaf for leaf in tree_leaves(out) if isinstance(leaf, torch.Tensor)]
    lower = name in CUDNN
    return [
        (tuple(x.shape), "bfloat16" if lower else str(x.dtype).removeprefix("torch."))
        for x in found
    ]


@pytest.mark.parametrize("name", [*OPS, *LAYERS])
def test_claimed_cuda_has_the_dtypes_of_cuda(name: str) -> None:
    expected = expected_on_cuda(name)
    trace = sw.trace(lambda: on_cuda(name))
    if isinstance(expected, str):
        assert "not linked" not in expected
        assert not trace.complete
        return
    assert trace.complete, trace.findings
    assert [
        (fact.shape, fact.dtype) for fact in collect_leaves(trace.output)
    ] == expected
    assert {fact.device for fact in collect_leaves(trace.output)} == {"cuda:0"}


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_the_lists_are_those_of_the_dispatcher(kind: str) -> None:
    key = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}[kind]
    registered = {
        name.split(".")[0].removeprefix("aten::")
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
        and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    }
    lists = (autocast.LOWER, autocast.FULL, autocast.WIDEST, autocast.REFUSED)
    listed = frozenset().union(*(each[kind] for each in lists))
    known = {name for name in listed if autocast.is_listed(name, kind)}
    assert known == registered - {"_cudnn_rnn"}  # that one stands in `CUDNN`


def test_autocast_for_cuda_is_off_again_after_a_trace() -> None:
    before = torch.cuda.is_bf16_supported, torch.cuda.amp.common
    functions = dict(vars(torch.cuda.amp.common))
    sw.trace(lambda: on_cuda("linear"))
    assert before == (torch.cuda.is_bf16_supported, torch.cuda.amp.common)
    assert functions == dict(vars(torch.cuda.amp.common))
    with pytest.warns(UserWarning, match="CUDA is not available"):
        torch.autocast("cuda")
