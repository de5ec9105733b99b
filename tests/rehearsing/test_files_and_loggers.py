"""Files and loggers of a rehearsed script: nothing is left, nothing is sent."""

from __future__ import annotations

import os
from pathlib import Path

from tests.rehearsing.rehearsed import rehearsed


def test_folders_are_walked_copied_and_removed_as_in_a_real_run(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old")
    script = """\
        import glob, os, pathlib, shutil, tempfile
        import torch

        os.makedirs("out/deep")
        with tempfile.NamedTemporaryFile("w", dir="out", delete=False) as file:
            file.write("new")
        os.replace(file.name, "out/new.txt")
        shutil.copy("old.txt", "out/deep/old.txt")
        shutil.copytree("out", "copy")
        assert sorted(glob.glob("copy/**/*.txt", recursive=True)) == [
            "copy/deep/old.txt", "copy/new.txt",
        ]
        assert [entry.name for entry in os.scandir("copy") if entry.is_dir()] == [
            "deep"
        ]
        assert sum(len(files) for _, _, files in os.walk(".")) == 6
        shutil.rmtree("copy")
        assert not pathlib.Path("copy").exists()
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "x").touch()
            assert os.listdir(folder) == ["x"]
        assert not os.path.exists(folder)
        assert os.access("out", os.W_OK)
        """
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        report = rehearsed(tmp_path, script)
    finally:
        os.chdir(here)
    assert report.findings == ()
    assert report.complete
    assert sorted(os.listdir(tmp_path)) == ["old.txt", "train.py"]


def test_a_missing_logger_stands_for_the_script_but_is_not_said_to_be_there(
    tmp_path: Path,
) -> None:
    script = """\
        import importlib.util
        import torch
        import clearml
        from visdom.server import Board
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter("runs")
        writer.add_scalar("loss", torch.zeros(3).sum(), 0)
        Board(port=1).send(clearml.Task.init("x"))
        assert importlib.util.find_spec("neptune") is None
        """
    report = rehearsed(tmp_path, script)
    assert report.findings == ()
    assert report.complete
