"""What breaks only at a size that nobody gave: one sample, odd sizes, one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import shapewright as sw
from shapewright import api
from tests.checking.edges.cases import RIGHT, WRONG, Case

CASES = {case.name: case for case in (*WRONG, *RIGHT)}


def told(folder: Path, case: Case) -> list[tuple[str, str]]:
    """Each finding as "severity code sizes", and the line it stands at."""
    file = folder / "net.py"
    file.write_text(case.text)
    lines = case.text.splitlines()
    report = api.check_target(f"{file}:Model")
    assert report.complete
    return [
        (
            f"{each.severity} {each.code} {each.sizes}",
            lines[each.span.line - 1].strip() if each.span else "",
        )
        for each in report.findings
    ]


@pytest.mark.parametrize("name", [case.name for case in WRONG])
def test_what_breaks_at_another_size_is_told(name: str, tmp_path: Path) -> None:
    assert told(tmp_path, CASES[name]) == list(CASES[name].told)


@pytest.mark.parametrize("name", [case.name for case in RIGHT])
def test_what_takes_every_size_it_should_is_quiet(name: str, tmp_path: Path) -> None:
    assert told(tmp_path, CASES[name]) == []


def wants_several(name: str) -> bool:
    """Whether a model takes batches of some number only."""
    return "odd_batch" in name or "windows_of" in name


def really(case: Case, sizes: dict[str, int], training: bool) -> Any:
    """The model run by torch itself, on real tensors of these sizes."""
    names: dict[str, Any] = {}
    exec(case.text, names)
    model = names["Model"]().train(training)
    return model(*names["example_inputs"](**sizes))


@pytest.mark.parametrize("name", [case.name for case in WRONG])
def test_torch_itself_breaks_there(name: str) -> None:
    case = CASES[name]
    really(case, {}, True)
    if case.gives is not None:
        assert tuple(really(case, case.breaks, case.training).shape) == case.gives
    else:
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            really(case, case.breaks, case.training)


@pytest.mark.parametrize("name", [case.name for case in RIGHT])
def test_torch_itself_takes_one_sample(name: str) -> None:
    case = CASES[name]
    sizes = {"B": 1} if "B" in case.sizes and not wants_several(name) else {}
    with torch.no_grad():
        really(case, sizes, False)


class Squeezing(nn.Module):
    """Loses its batch with one sample."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)
        self.fc = nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.norm(x)).squeeze()


class Folding(Squeezing):
    """Changes its weights where it goes into evaluation."""

    def train(self, mode: bool = True) -> Folding:
        with torch.no_grad():
            self.fc.weight *= 2
        return super().train(mode)


@pytest.mark.parametrize("kind", [Squeezing, Folding])
def test_a_live_model_is_left_as_it_was(kind: type[Squeezing]) -> None:
    model = kind()
    model.norm.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    report = sw.check(model, torch.randn(4, 6))
    told = [each.sizes for each in report.findings if each.severity == "warning"]
    assert told == (["B=1"] if kind is Squeezing else [])
    assert [each.training for each in model.modules()] == [True, False, True]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


class Twice(nn.Module):
    """Takes a second input that is twice as long."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = self.fc(y).view(x.size(0), 2, 6).squeeze()
        return z.sum(2) + self.fc(x).sum(1, keepdim=True)


@pytest.mark.parametrize("given", [["f32[B=4, 6], f32[2*B, 6]"], [(4, 6), (8, 6)]])
def test_letters_of_the_spec_are_varied_with_their_formulas(given: list[Any]) -> None:
    inputs = [each if isinstance(each, str) else torch.zeros(each) for each in given]
    told = [each.message for each in sw.check(Twice(), *inputs).findings]
    stated = isinstance(given[0], str)
    assert len(told) == stated, "without letters nobody knows that they go together"
    assert not stated or told[0].startswith("at B=1 in evaluation, `Tensor.sum`")


def test_a_size_that_the_spec_names_is_told_by_its_letter(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(CASES["squeeze_then_unpack"].text)
    report = api.check_target(f"{file}:Model", "f32[N=8, 3, 32, 32]")
    (one,) = report.findings
    assert one.sizes == "N=1"
    assert one.message.startswith("at N=1 in evaluation, `b, c` expects 2 sizes")
    assert one.lines == ("N=2, 3 and 8 run",)
    assert report.exit_code == 1


def test_a_comment_switches_it_off(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = CASES["batch_in_a_view"].text
    comment = "  # shapewright: ignore[batch-hard-coded]"
    file.write_text(text.replace("return self.fc(x)", f"return self.fc(x){comment}"))
    assert api.check_target(f"{file}:Model").findings == ()


def test_what_comes_at_a_size_is_a_note_that_changes_no_exit_code(
    tmp_path: Path,
) -> None:
    file = tmp_path / "net.py"
    file.write_text(CASES["skip_of_a_unet"].text)
    report = api.check_target(f"{file}:Model")
    (one,) = report.findings
    assert one.lines[-1] == (
        "height 32, 34 and 36 or width 32, 34 and 36 run: multiples of 2"
    )
    assert report.exit_code == 0
