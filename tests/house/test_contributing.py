"""What CONTRIBUTING describes, added from outside the package, each by a registry."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright import api
from shapewright.cli.main import main
from tests.house import pages


@contextmanager
def restored(*registries: Any) -> Iterator[None]:
    """Put registries back as they were, also in child processes of the block."""
    before = [each.copy() for each in registries]
    try:
        yield
    finally:
        for registry, old in zip(registries, before, strict=True):
            registry.clear()
            registry.update(old) if isinstance(old, dict) else registry.extend(old)


def test_an_operator() -> None:
    import shapewright.operators.all_needs  # noqa: F401
    from shapewright.findings.codes import WRONG_RANK
    from shapewright.index_maps.index_map import MAPS, IndexMap, Read, Table, index_map
    from shapewright.operators import import_families
    from shapewright.operators.failed_calls import Place, Unmet
    from shapewright.operators.metadata_rules import RULES, Made, rule
    from shapewright.operators.needs_registry import NEEDS, needs
    from shapewright.sizes.expressions import Letter

    import_families("index_map")
    name = "torch.vander"  # a row of powers for each number
    with restored(RULES, NEEDS, MAPS):

        @rule(name)
        def powers(x: Any, N: int | None = None, increasing: bool = False) -> Any:
            if len(x.shape) != 1 or x.requires_grad:
                return NotImplemented
            return Made((x.shape[0], x.shape[0] if N is None else N), x.dtype)

        @needs(name)
        def vectors(x: Any, N: int | None = None, increasing: bool = False) -> Any:
            if len(x.shape) != 1:
                message = f"{{op}} takes a vector, {{x}} has {len(x.shape)} dims"
                return Unmet(WRONG_RANK, message, Place("x"))
            return None

        @index_map(name)
        def rows(x: Any, N: int | None = None, increasing: bool = False) -> IndexMap:
            count = x.shape[0] if N is None else N
            exponents = range(count) if increasing else reversed(range(count))
            reads = Read("x", (Letter("i"),)), Read("exponent", (Letter("j"),))
            table = Table("exponent", tuple(exponents))
            shape = x.shape[0], count
            return IndexMap(shape, reads, term="pow", tables=(table,))

        trace = sw.options(verify=True).trace(torch.vander, "f32[5]", N=3)
        assert trace.output.shape == (5, 3)
        assert not trace.findings
        (finding,) = sw.check(lambda grid: torch.vander(grid), "f32[2, 4]").findings
        assert (finding.code, finding.severity) == (WRONG_RANK, "error")
        assert finding.message == "`torch.vander` takes a vector, `grid` has 2 dims"
        drawing = str(sw.explain("torch.vander(f32[4], 3)"))
        assert "out[i, j] = x[i] ** exponent[j]" in drawing
        assert "checked: equal to torch at 12 elements" in drawing


PAGE = "# deep-stack\n\nA tensor has more dims than anyone can name.\n"
STACK = """\
import torch

def main():
    return torch.ones(1, 1, 1, 1, 1, 1, 1, 1, 1) * 2
"""


def test_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shapewright.analysis.hazards.context import HazardContext
    from shapewright.findings.codes import CODES, LOOKERS, Code, add_code, looks_for
    from shapewright.findings.finding import Finding

    page, file = tmp_path / "deep-stack.md", tmp_path / "stack.py"
    page.write_text(PAGE)
    file.write_text(STACK)
    with restored(CODES, LOOKERS):
        words = "more than 8 dims", "fewer dims"
        code = add_code(Code("deep-stack", "hazard", "warning", *words, page))

        @looks_for(code)
        def deep_stacks(context: HazardContext) -> Iterator[Finding]:
            for call in context.calls:
                if len(call.op.outputs[0].shape) > 8 and call.op.inputs:
                    yield context.finding(code, call.op, "this has more than 8 dims")

        assert main(["check", "--format", "concise", f"{file}:main"]) == 1
        out = capsys.readouterr().out
        assert "4:12: warning[deep-stack]: this has more than 8 dims" in out
        assert main(["explain", "deep-stack"]) == 0
        assert capsys.readouterr().out == PAGE
        file.write_text(STACK.replace("* 2", "* 2  # shapewright: ignore[deep-stack]"))
        assert main(["check", f"{file}:main"]) == 0
    assert main(["explain", "deep-stack"]) == 2


def test_a_view(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from shapewright.record.trace import Trace
    from shapewright.views.renderers import RENDERERS, Display, renders

    file = tmp_path / "net.py"
    file.write_text("import torch\n\ndef double(x):\n    return x * 2\n")
    with restored(RENDERERS):

        @renders("trace", "lines", "text", "a line each")
        def trace_as_lines(trace: Trace, display: Display) -> str:
            return "".join(f"{op.name},{op.outputs[0].shape}\n" for op in trace.ops)

        given = ["-i", "f32[2, 3]", f"{file}:double"]
        assert main(["trace", "--format", "lines", *given]) == 0
        assert capfd.readouterr().out == "*,(2, 3)\n"
    assert main(["trace", "--format", "lines", *given]) == 2


def test_a_kind_of_target(capsys: pytest.CaptureFixture[str]) -> None:
    from shapewright.inputs.callables import Loaded, make_loaded
    from shapewright.inputs.libraries import make_empty_program, read_keywords
    from shapewright.inputs.target import LIBRARIES, Target, TargetKind, add_target_kind

    def load(target: Target, building: Any) -> Loaded:
        with building:
            model = nn.Linear(int(target.place), **read_keywords(target))
        return make_loaded(model, target.text, make_empty_program())

    with restored(LIBRARIES):
        add_target_kind(TargetKind("linear", load))
        target = "linear:6(out_features=3)"
        assert api.trace_target(target, "f32[4, 6]").trace.output.shape == (4, 3)
        assert main(["check", "-i", "f32[4, 5]", target]) == 1
        assert "needs 6 input features, got 5" in capsys.readouterr().out
    assert main(["trace", target]) == 2


LIBRARY = """\
class Federation:
    def __init__(self, visits):
        self.visits = visits

    def fit(self, step, loader):
        for visit in range(self.visits):
            for batch in loader:
                step(batch)
"""

SCRIPT = """\
import sys
sys.path.insert(0, "{folder}/site-packages")
import torch
from torch import nn
from torch.utils.data import DataLoader
from {name} import Federation

net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)

def step(batch):
    optimizer.zero_grad()
    net(batch).mean().backward()
    optimizer.step()

Federation(visits=50).fit(step, DataLoader(torch.randn(64, 8), 16))
"""


def test_a_library_that_owns_the_training_loop(tmp_path: Path) -> None:
    from shapewright.program.training_libraries import (
        TRAINING_LIBRARIES,
        TrainingLibrary,
    )

    def skipped(name: str) -> tuple[str, ...]:
        folder = tmp_path / name
        (folder / "site-packages").mkdir(parents=True)
        (folder / f"site-packages/{name}.py").write_text(LIBRARY)
        (folder / "train.py").write_text(SCRIPT.format(folder=folder, name=name))
        report = api.rehearse_script(str(folder / "train.py"))
        assert report.rehearsal is not None
        return report.rehearsal.skipped

    cut = "the library's epochs ended after 3 of 50"
    assert not any(cut in each for each in skipped("unknown"))
    with restored(TRAINING_LIBRARIES):
        TRAINING_LIBRARIES.append(TrainingLibrary("site-packages", "visit"))
        assert any(cut in each for each in skipped("known"))


def test_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shapewright.runtime.device_files import Gpu
    from shapewright.runtime.named_machines import GPUS

    file = tmp_path / "name.py"
    file.write_text("import torch\nassert torch.cuda.get_device_name() == 'NVIDIA B9'")
    with restored(GPUS):
        GPUS["b9"] = Gpu("NVIDIA B9", 192, (10, 0), 148)
        assert main(["rehearse", "--device", "2x B9", str(file)]) == 0
    assert main(["rehearse", "--device", "2x B9", str(file)]) == 2
    assert "no device `2x B9` is known" in capsys.readouterr().err


STAND_IN = """\
import torch

SOURCE, VERSION = "signatures of https://example.org/fast-norms", "1.0"


def fast_norm(x, width):
    if x.shape[-1] != width:
        raise RuntimeError(f"fast_norm expects {width}, got {x.shape[-1]}")
    return torch.nn.functional.rms_norm(x, (width,))


MODULES = {"": {"fast_norm": fast_norm}}
"""
USE = """\
import torch
from fast_norms import fast_norm

print(fast_norm(torch.randn(2, 64), 64).shape)
fast_norm(torch.randn(2, 32), 64)
"""


def test_a_package_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapewright.runtime.absent.packages import STAND_INS, register_stand_in

    (tmp_path / "stand_in_of_fast_norms.py").write_text(STAND_IN)
    (tmp_path / "train.py").write_text(USE)
    monkeypatch.syspath_prepend(str(tmp_path))
    with restored(STAND_INS):
        register_stand_in("fast_norms", "stand_in_of_fast_norms")
        report = api.rehearse_script(str(tmp_path / "train.py"))
    (finding,) = report.findings
    assert "fast_norm expects 64, got 32" in finding.message
    assert finding.span is not None
    assert finding.span.line == 5
    assert [each.basis for each in report.assumptions] == ["documented"]


def test_each_example_is_short_and_named_where_it_is_described() -> None:
    examples = [
        node
        for node in ast.parse(Path(__file__).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_a")
    ]
    text = pages.read("CONTRIBUTING.md")
    assert len(examples) == 7
    for node in examples:
        assert node.end_lineno is not None
        assert node.end_lineno - node.lineno < 60, node.name
        assert f"`{node.name}`" in text
