"""Torch's own tracers inside a program: the same shapes as in a real run."""

from __future__ import annotations

import runpy
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

import shapewright as sw
from shapewright.api import trace_target
from tests.capture.traced_modules import MODULES, REFUSED, TRACERS, file_of

QUICK = [
    ("normalised", "jit.trace"),
    ("flattened", "jit.trace"),
    ("two outputs", "jit.trace"),
    ("attention", "jit.script"),
    ("scaled", "jit.script"),
    ("normalised", "symbolic_trace"),
    ("two outputs", "symbolic_trace"),
    ("flattened", "make_fx"),
    ("in place", "jit.trace"),
    ("GRU", "jit.trace"),
]


def facts_of(value: Any) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and dtypes of an output, ours or torch's."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [fact for each in value for fact in facts_of(each)]
    return [(tuple(value.shape), str(value.dtype).removeprefix("torch."))]


def assert_as_in_a_real_run(
    folder: Path, module: str, tracer: str, place: str = "on import"
) -> None:
    """Compare at sizes other than those of the example."""
    file = folder / "traced.py"
    file.write_text(file_of(module, tracer, place))
    torch.manual_seed(0)
    try:
        real = runpy.run_path(str(file))["net"]
    except Exception as error:
        pytest.skip(f"torch refuses to trace it: {error}")
    shape = [int(size) for size in MODULES[module][1].split(",")]
    for batch in (2,) if tracer == "make_fx" else (2, 3, 7):
        shape[0] = batch
        trace = trace_target(f"{file}:net", f"f32{shape}").trace
        if tracer == "compile":
            torch.compiler.reset()
        try:
            wanted = facts_of(real(torch.randn(shape)))
        except Exception:
            assert not trace.complete
            return
        assert trace.complete
        assert facts_of(trace.output) == wanted
        assert trace.findings == ()
        assert "never used" not in str(trace)
        assert not any("not recorded" in note for note in trace.notes)
        assert all(op.flops is None for op in trace.ops if op.kind == "opaque")
        if tracer.startswith("jit") and place == "on import" and module != "function":
            assert [op.kind for op in trace.ops] == ["opaque"]
        assert not any("empty_strided" in op.name for op in trace.ops)


@pytest.mark.parametrize(("module", "tracer"), QUICK)
def test_what_a_tracer_made(module: str, tracer: str, tmp_path: Path) -> None:
    assert_as_in_a_real_run(tmp_path, module, tracer)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("module", "tracer"),
    [
        pair
        for pair in product(MODULES, TRACERS)
        if pair not in QUICK and pair[::-1] not in REFUSED
    ],
)
def test_what_any_tracer_made(module: str, tracer: str, tmp_path: Path) -> None:
    assert_as_in_a_real_run(tmp_path, module, tracer)


ELSEWHERE = ["linear", "normalised", "GRU", "two outputs", "dictionary", "function"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["in __init__", "in forward"])
@pytest.mark.parametrize("tracer", [t for t in TRACERS if t != "compile"])
@pytest.mark.parametrize("module", ELSEWHERE)
def test_what_a_tracer_made_elsewhere(
    module: str, tracer: str, place: str, tmp_path: Path
) -> None:
    assert_as_in_a_real_run(tmp_path, module, tracer, place)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tracer", ["jit.trace", "jit.script", "export", "make_fx"])
def test_what_a_script_traces_in_its_main(tracer: str, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        file_of("normalised", tracer).replace("\nnet = ", "\nif True:\n    net = ")
        + "print(tuple(net(torch.randn(2, 3, 8, 8)).shape))\n"
    )
    trace = trace_target(str(file)).trace
    assert trace.complete
    assert trace.findings == ()
    assert trace.ops[-1].outputs[0].shape == (2, 4)


def test_a_tracer_that_a_file_got_hold_of_on_import(tmp_path: Path) -> None:
    """The run in which the file is imported is not the one in which it is called."""
    assert_as_in_a_real_run(tmp_path, "linear", "make_fx", "in forward")


def test_a_function_of_torch_without_writes_is_traced_call_by_call() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        net = torch.nn.Linear(6, 4)
        result: torch.Tensor = torch.func.functionalize(lambda y: net(y).add_(1))(x)
        return result

    trace = sw.trace(program, "f32[5, 6]")
    assert [op.name for op in trace.ops][-2:] == ["F.linear", "Tensor.add_"]
    assert trace.totals.parameters == 0 or trace.complete


def test_a_traced_function_that_closes_over_a_model() -> None:
    model = torch.nn.Linear(6, 4).requires_grad_(False)

    def program(x: torch.Tensor) -> torch.Tensor:
        traced = torch.jit.trace(lambda y: model(y).relu(), torch.randn(2, 6))
        graph = torch.fx.symbolic_trace(model)
        return graph(x) + traced(torch.randn(3, 6)).shape[0]  # type: ignore[no-any-return]

    assert sw.trace(program, "f32[5, 6]").output.shape == (5, 4)


def test_nothing_of_a_tracer_stays(tmp_path: Path) -> None:
    before = torch.jit.trace, torch.export.export, torch.fx.Tracer.trace
    file = tmp_path / "traced.py"
    file.write_text(file_of("linear", "jit.trace"))
    trace_target(f"{file}:net", "f32[2, 6]")
    assert (torch.jit.trace, torch.export.export, torch.fx.Tracer.trace) == before
