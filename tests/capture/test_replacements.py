"""What a run replaces in torch and Python looks like what it replaces.

A program may ask a function for its cache, its name or its signature, as libraries do
when they are imported (issue 13: a Lightning script asked `is_available.__wrapped__`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed

import shapewright as sw
from shapewright.engine.failures.constructions import Constructions
from shapewright.runtime.files.program_files import ProgramFiles
from shapewright.runtime.model_building import build_without_data
from tests.capture import replacements
from tests.rehearsing.rehearsed import rehearsed


def program(x: torch.Tensor) -> torch.Tensor:
    replacements.look()
    return x


def told(run: Callable[[], object]) -> dict[str, list[str]]:
    """What a run of `program` replaces, each with how it can be told from the other."""
    replacements.before.append(replacements.attributes())
    run()
    replacements.before.clear()
    return replacements.seen.get(timeout=60)


def assert_alike(seen: dict[str, list[str]], *names: str) -> None:
    """None of them can be told from the original, and these are among them."""
    assert {name: each for name, each in seen.items() if each} == {}
    assert set(names) <= set(seen)


def test_a_trace_replaces_by_what_looks_the_same() -> None:
    seen = told(lambda: sw.trace(program, "f32[2, 3]"))
    assert_alike(seen, "torch.compile", "random.seed", "threading.Thread.start")


def test_a_run_with_gradients_does() -> None:
    linear = torch.nn.Linear(3, 4)

    def run() -> None:
        sw.trace(lambda x: (linear(x).sum().backward(), program(x)), "f32[2, 3]")

    assert_alike(told(run), "torch.autograd.function.BackwardCFunction.apply")


def test_a_check_does() -> None:
    seen = told(lambda: sw.check(program, "f32[2, 3]"))
    assert_alike(seen, "torch.nn.modules.module.Module._call_impl")


def test_the_building_of_a_model_does() -> None:
    def run() -> None:
        with build_without_data(), Constructions().watched():
            program(torch.zeros(2))

    assert_alike(told(run), "torch.Tensor._make_subclass")


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
def test_a_rehearsal_does(device: str) -> None:
    seen = told(lambda: sw.rehearse(program, "f32[2, 3]", device=device))
    assert_alike(
        seen,
        "torch.backends.mps.is_available",
        "torch.cuda.is_available",
        "torch.utils.data.dataloader.DataLoader.__iter__",
        "torch.amp.GradScaler",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.load",
        "io.open",
        "os.stat",
    )


def test_a_cached_function_is_asked_past_its_cache(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch

        ask = torch.backends.mps.is_available
        ask.cache_clear()
        assert ask() and ask.__wrapped__() and ask.cache_info().hits == 0
        """,
        device="mps",
    )
    assert [each.message for each in report.findings] == []


def test_links_are_copied_as_links(tmp_path: Path) -> None:
    """`shutil.copy2` asks whether `os.stat` stands in a set of functions."""
    (tmp_path / "a").write_text("text")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with ProgramFiles().kept(None):
        shutil.copy2(tmp_path / "b", tmp_path / "c", follow_symlinks=False)
        assert (tmp_path / "c").is_symlink()
        assert os.stat in os.supports_follow_symlinks
    assert not (tmp_path / "c").exists()
    assert len(os.supports_follow_symlinks) < 20
