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
from tests.capture.traced_modules import MODULES, TRACERS, file_of

QUICK = [
    ("normalised", "jit.trace"),
    ("flattened", "jit.trace"),
    ("two outputs", "jit.trace"),
    ("attention", "jit.script"),
    ("scaled", "jit.script"),
    ("normalised", "symbolic_trace"),
    ("two outputs", "symbolic_trace"),
    ("flattened", "make_fx"),
    ("scaled", "export"),
]


def facts_of(value: Any) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and dtypes of an output, ours or torch's."""
    several = value if isinstance(value, tuple | list) else [value]
    return [
        (tuple(each.shape), str(each.dtype).removeprefix("torch.")) for each in several
    ]


def assert_as_in_a_real_run(folder: Path, module: str, tracer: str) -> None:
    """Compare at sizes other than those of the example."""
    file = folder / "traced.py"
    file.write_text(file_of(module, tracer))
    real = runpy.run_path(str(file))["net"]
    shape = [int(size) for size in MODULES[module][1].split(",")]
    for batch in (2,) if tracer == "make_fx" else (2, 3, 7):
        shape[0] = batch
        trace = trace_target(f"{file}:net", f"f32{shape}").trace
        assert trace.complete
        assert facts_of(trace.output) == facts_of(real(torch.randn(shape)))
        assert trace.findings == ()
        assert "never used" not in str(trace)
        if tracer.startswith("jit"):
            (op,) = trace.ops
            assert (op.kind, op.flops) == ("opaque", None)
        elif module != "joined":
            assert not any("empty_strided" in op.name for op in trace.ops)


@pytest.mark.parametrize(("module", "tracer"), QUICK)
def test_what_a_tracer_made(module: str, tracer: str, tmp_path: Path) -> None:
    assert_as_in_a_real_run(tmp_path, module, tracer)


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "tracer"), [p for p in product(MODULES, TRACERS) if p not in QUICK]
)
def test_what_any_tracer_made(module: str, tracer: str, tmp_path: Path) -> None:
    assert_as_in_a_real_run(tmp_path, module, tracer)


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
