"""What breaks only at a size that nobody gave: one sample, odd sizes, one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

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
