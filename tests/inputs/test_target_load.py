"""Targets to objects: what a target names, and that loading leaves nothing behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from inputs.programs import MODEL, loaded, write
from shapewright.api import trace_target
from shapewright.inputs.target import parse_target
from shapewright.inputs.target_objects import load_target


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model; afterwards Python's import state must be as before."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, model=MODEL, sizes="WIDTH = 3", late="FACTOR = 2")
    before = (list(sys.path), dict(sys.modules), sys.argv)
    yield tmp_path
    assert sys.path == before[0]
    left = {name for name in sys.modules if name not in before[1]}
    assert not left & {"model", "sizes", "late", "pkg", "rel", "layers", "random_"}
    assert all(sys.modules[name] is module for name, module in before[1].items())
    assert sys.argv is before[2]


@pytest.mark.parametrize(
    ("target", "width", "method"),
    [
        ("model.py:Net", 4, "forward"),
        ("model.py:Net()", 4, "forward"),
        ("model.py:Net(10, bias=False)", 10, "forward"),
        ("model.py:net", 7, "forward"),
        ("model.py:build", 5, "forward"),
        ("model.py:build()", 5, "forward"),
        ("model.py:made", 6, "forward"),
        ("model.py:Net.encode", 4, "encode"),
        ("model.py:Net(9).encode", 9, "encode"),
        ("model.py:net.fc", 7, "forward"),
        ("model.py:FromConfig(Config(width=3), dtype=torch.float32)", 2, "forward"),
        ("model:Net", 4, "forward"),
    ],
)
def test_what_a_target_names(target: str, width: int, method: str) -> None:
    found = loaded(target)
    assert found.method == method
    assert found.name == target.partition(":")[2]
    assert isinstance(found.module, torch.nn.Module)
    with found.program.running():
        assert found.callable(torch.zeros(2, 3)).shape == (2, width)


def test_functions_and_other_objects() -> None:
    for target in ("model.py:loss", "model.py:Tool.run", "model.py:Net.shared"):
        found = loaded(target)
        assert found.module is None
        assert found.name == target.partition(":")[2]
    assert loaded("model.py:loss").callable(5, 3) == 2
    assert loaded("model.py:network_report").method == "network_report"


def test_a_builder_says_that_it_was_called() -> None:
    assert loaded("model.py:build").notes == (
        "`build` was called, the target is the module it returned",
    )
    assert loaded("model.py:build()").notes == ()


def test_it_is_built_inside_the_given_context() -> None:
    found = load_target(parse_target("model.py:Net"), torch.device("meta"))
    assert found.module is not None
    assert found.module.fc.weight.device.type == "meta"


def test_a_file_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    found = loaded("../model.py:net")
    assert found.file == str(tmp_path / "model.py")
    assert found.callable(torch.zeros(1, 3)).shape == (1, 7)


def test_what_a_module_knows_of_itself(folder: Path) -> None:
    write(folder, model="names = dict(globals())\ndef f(x): return x, names")
    _, names = loaded("model.py:f").callable(0)
    assert names["__name__"] == "model"
    assert names["__file__"] == str(folder / "model.py")


def test_relative_imports(folder: Path) -> None:
    write(
        folder,
        ("pkg/rel", "from .layers import f\nfrom . import layers"),
        ("pkg/layers", "def f(x): return x + 1"),
    )
    assert loaded("pkg/rel.py:f").callable(1) == 2
    assert loaded("pkg.rel:f").callable(1) == 2
    assert loaded("pkg/rel.py:layers.f").callable(1) == 2


def test_relative_imports_from_the_folder_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, ("pkg/sub/rel", "from ..layers import f"), ("pkg/layers", "f = abs"))
    write(folder, ("pkg/__init__", "from .sub import rel"))
    monkeypatch.chdir(folder / "pkg" / "sub")
    assert loaded("rel.py:f").callable(-1) == 1


def test_absolute_imports_of_its_own_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, ("pkg/__init__", ""), ("pkg/layers", "f = abs"))
    write(folder, ("pkg/rel", "from pkg.layers import f"))
    monkeypatch.chdir(folder / "pkg")
    assert loaded("rel.py:f").callable(-1) == 1


def test_a_package_file(folder: Path) -> None:
    write(folder, ("pkg/__init__", "from .layers import f"), ("pkg/layers", "f = abs"))
    assert loaded("pkg/__init__.py:f").callable(-1) == 1
    assert loaded("pkg:f").callable(-1) == 1


def test_siblings_of_the_same_name_in_two_folders(folder: Path) -> None:
    for name in ("a", "b"):
        text = "from sizes import WIDTH\ndef f(): return WIDTH"
        write(folder, (f"{name}/model", text), (f"{name}/sizes", f"WIDTH = {name!r}"))
    first, second = loaded("a/model.py:f"), loaded("b/model.py:f")
    assert (first.callable(), second.callable()) == ("a", "b")


def test_a_module_that_somebody_else_imported_stays(folder: Path) -> None:
    other: Any = type(sys)("sizes")
    other.WIDTH = 1000
    sys.modules["sizes"] = other
    try:
        assert loaded("model.py:net").callable(torch.zeros(1, 3)).shape == (1, 7)
        assert sys.modules["sizes"] is other
    finally:
        del sys.modules["sizes"]


def test_a_file_named_like_the_standard_library(folder: Path) -> None:
    write(folder, random="import random\ndef f(): return random.__name__, __name__")
    import random

    assert loaded("random.py:f").callable() == ("random", "random_")
    assert sys.modules["random"] is random


def test_changes_of_the_path_last_for_the_run_only(folder: Path) -> None:
    write(folder, ("lib/deep", "VALUE = 5"))
    write(
        folder,
        model="""
        import os, sys
        sys.path.append(os.path.join(os.path.dirname(__file__), "lib"))
        def f():
            import deep
            return deep.VALUE
        """,
    )
    found = loaded("model.py:f")
    for _ in range(2):
        with found.program.running(), found.program.running():
            assert found.callable() == 5
    assert str(folder / "lib") not in sys.path


def test_dataclasses_and_pickles_find_their_module(folder: Path) -> None:
    write(
        folder,
        model="""
        from __future__ import annotations
        import pickle
        from dataclasses import dataclass

        @dataclass
        class Config:
            width: int = 3

        def f():
            return pickle.loads(pickle.dumps(Config())).width
        """,
    )
    found = loaded("model.py:f")
    with found.program.running():
        assert found.callable() == 3


def test_a_script_runs_as_main(folder: Path) -> None:
    write(
        folder,
        train="""
        import sys
        import sizes
        def f(): return sizes.WIDTH
        if __name__ == "__main__":
            assert sys.modules["__main__"].f is f
            with open("seen.txt", "w") as file:
                print(f(), sys.argv, file=file)
            sys.exit(4)
        """,
    )
    found = loaded("train.py")
    with pytest.raises(SystemExit) as end:
        found.callable()
    assert end.value.code == 4
    assert (folder / "seen.txt").read_text() == "3 ['train.py']\n"


def test_declared_inputs_in_their_order(folder: Path) -> None:
    write(
        folder,
        model="""
        import torch

        class Net(torch.nn.Module):
            example_input_array = torch.zeros(1, 3)
            dummy_inputs = {"x": torch.zeros(2, 3)}
            def forward(self, x):
                return x

        def example_inputs():
            return "f32[B=5, 3]"
        """,
    )
    found = loaded("model.py:Net")
    assert [each.reason for each in found.examples] == [
        "`example_inputs()` of model.py",
        "its `example_input_array`",
        "its `dummy_inputs`",
    ]
    shapes = []
    for each in found.examples:
        args, kwargs = each.arguments()
        shapes.append(tuple(found.callable(*args, **kwargs).shape))
    assert shapes == [(5, 3), (1, 3), (2, 3)]


def test_weights_are_not_downloaded_to_build_a_model(folder: Path) -> None:
    """The real run downloads them; shapes need none, and it is said."""
    text = """
        import torch
        from torch.hub import load_state_dict_from_url

        def make():
            net = torch.nn.Linear(3, 4)
            net.load_state_dict(load_state_dict_from_url("https://a.invalid/w.pth"))
            return net
        """
    write(folder, weights=text)
    trace = trace_target("weights.py:make", "f32[2, 3]").trace
    assert trace.complete
    assert trace.findings == ()
    assert [each.message for each in trace.assumptions] == [
        "the weights of https://a.invalid/w.pth are not here; they are assumed to fit"
    ]
    assert sys.modules["torch.hub"].load_state_dict_from_url.__module__ == "torch.hub"
