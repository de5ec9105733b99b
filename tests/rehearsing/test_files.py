"""Files: a script finds what it wrote and misses what it removed; nobody else does."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

from shapewright.api import rehearse_script

SCRIPTS = {
    "reads its own data": """
import csv
rows = list(csv.reader(open("data/in.csv")))
assert rows[1] == ["1", "2"]
assert len(open(os.path.join(os.path.dirname(__file__), "data/in.csv")).read()) == 12
""",
    "makes folders": """
os.makedirs("out/a/b", exist_ok=True)
os.makedirs("out/a/b", exist_ok=True)
assert os.path.isdir("out/a/b") and os.listdir("out") == ["a"]
assert not os.path.exists("out/b")
try:
    os.makedirs("out/a/b")
except FileExistsError:
    pass
else:
    raise AssertionError("made twice")
assert [each[0] for each in os.walk("out")] == ["out", "out/a", "out/a/b"]
""",
    "pathlib": """
folder = Path("out") / "deep"
folder.mkdir(parents=True)
(folder / "x.txt").write_text("hello")
(folder / "y.txt").touch()
assert (folder / "x.txt").read_text() == "hello"
assert sorted(each.name for each in folder.iterdir()) == ["x.txt", "y.txt"]
assert sorted(each.name for each in Path("out").glob("**/*.txt")) == ["x.txt", "y.txt"]
(folder / "x.txt").unlink()
assert not (folder / "x.txt").exists() and (folder / "y.txt").is_file()
(folder / "y.txt").rename("moved.txt")
assert Path("moved.txt").exists() and not any(folder.iterdir())
""",
    "numpy": """
np.save("a.npy", np.arange(6))
np.savez("a.npz", one=np.arange(6))
np.savetxt("a.txt", np.eye(2))
assert np.load("a.npy").sum() == np.load("a.npz")["one"].sum() == 15
assert np.loadtxt("a.txt").shape == (2, 2)
""",
    "csv, json, pickle, gzip, zip": """
import csv, gzip, pickle, zipfile
with open("t.csv", "w", newline="") as file:
    csv.writer(file).writerows([[1, 2], [3, 4]])
assert open("t.csv").read().split() == ["1,2", "3,4"]
with open("t.json", "w") as file:
    json.dump({"loss": 1.0}, file)
assert json.load(open("t.json")) == {"loss": 1.0}
with open("t.pkl", "wb") as file:
    pickle.dump([1], file)
assert pickle.load(open("t.pkl", "rb")) == [1]
with gzip.open("t.gz", "wt") as file:
    file.write("q")
assert gzip.open("t.gz", "rt").read() == "q"
with zipfile.ZipFile("t.zip", "w") as file:
    file.writestr("a", "b")
assert zipfile.ZipFile("t.zip").namelist() == ["a"]
""",
    "tar and bzip2": """
import bz2, tarfile
with tarfile.open("t.tgz", "w:gz") as file:
    file.add("data")
with tarfile.open("t.tgz") as file:
    file.extractall("out")
assert os.listdir("out/data") == ["in.csv"]
with tarfile.open("t.tgz") as file:
    file.extractall()
assert len(open("data/in.csv").read()) == 12
with bz2.open("t.bz2", "wt") as file:
    file.write("q")
assert bz2.open("t.bz2", "rt").read() == "q"
""",
    "logging": """
import logging
handler = logging.FileHandler("run.log")
logging.getLogger("run").addHandler(handler)
logging.getLogger("run").warning("epoch 1")
handler.close()
assert "epoch 1" in open("run.log").read()
""",
    "adds to a file and changes it": """
with open("old.txt", "a") as file:
    file.write("new")
assert open("old.txt").read() == "oldnew"
with open("old.txt", "r+") as file:
    file.write("OLD")
assert open("old.txt").read() == "OLDnew" and os.path.getsize("old.txt") == 6
""",
    "opens a new file only": """
open("fresh.txt", "x").close()
for name in ("fresh.txt", "old.txt"):
    try:
        open(name, "x")
    except FileExistsError:
        continue
    raise AssertionError(name)
""",
    "removes": """
assert os.path.exists("data/in.csv")
os.remove("data/in.csv")
assert not os.path.exists("data/in.csv") and os.listdir("data") == []
try:
    open("data/in.csv")
except FileNotFoundError:
    pass
else:
    raise AssertionError("still there")
os.rmdir("data")
assert not os.path.exists("data") and "data" not in os.listdir(".")
""",
    "begins anew": """
shutil.rmtree("data")
os.makedirs("data")
assert os.listdir("data") == [] and not os.path.exists("data/in.csv")
open("data/other.csv", "w").close()
assert [each.name for each in os.scandir("data")] == ["other.csv"]
""",
    "copies and moves": """
shutil.copy("old.txt", "copy.txt")
shutil.copy2("old.txt", "copy2.txt")
shutil.move("copy.txt", "moved.txt")
os.rename("moved.txt", "named.txt")
os.replace("named.txt", "copy2.txt")
assert open("copy2.txt").read() == "old"
assert not os.path.exists("moved.txt") and not os.path.exists("named.txt")
shutil.copytree("data", "more")
assert os.listdir("more") == ["in.csv"]
shutil.rmtree("more")
assert not os.path.exists("more") and os.path.exists("data/in.csv")
""",
    "refuses to remove what is full": """
for remove in (os.rmdir, os.remove):
    try:
        remove("data")
    except OSError:
        continue
    raise AssertionError(remove)
assert os.path.exists("data/in.csv")
""",
    "goes into a folder": """
here = os.getcwd()
os.makedirs("runs/1")
os.chdir("runs/1")
open("here.txt", "w").close()
assert os.path.exists("here.txt") and os.listdir(".") == ["here.txt"]
assert os.getcwd() == os.path.join(here, "runs", "1")
assert open("../../old.txt").read() == "old"
os.chdir(here)
assert os.path.exists("runs/1/here.txt")
""",
    "temporary files": """
import tempfile
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "x"), "w").close()
    assert os.listdir(folder) == ["x"]
assert not os.path.exists(folder)
with tempfile.NamedTemporaryFile("w+") as file:
    file.write("1")
number, name = tempfile.mkstemp()
os.close(number)
assert os.path.exists(name)
os.remove(name)
""",
    "checkpoints": """
import torch
torch.save({"epoch": 3, "model": torch.nn.Linear(4, 2).state_dict()}, "last.pt")
saved = torch.load("last.pt")
assert saved["epoch"] == 3 and saved["model"]["weight"].shape == (2, 4)
assert os.path.exists("last.pt")
shutil.copyfile("last.pt", "best.pt")
assert torch.load("best.pt")["epoch"] == 3
""",
}


def folder_with_files(tmp_path: Path, text: str) -> Path:
    """A folder with a script and what it reads."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "old.txt").write_text("old")
    head = "import json, os, shutil\nfrom pathlib import Path\nimport numpy as np\n"
    (tmp_path / "train.py").write_text(head + text)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    """Everything below a folder."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_sees_its_files_and_leaves_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_with_files(tmp_path, SCRIPTS[name])
    monkeypatch.chdir(folder)
    before = contents(folder)
    report = rehearse_script("train.py")
    assert [each.message for each in report.findings] == []
    assert contents(folder) == before
    assert os.getcwd() == str(folder)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_real_run_sees_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with_files(tmp_path, SCRIPTS[name]))
    monkeypatch.setattr(sys, "argv", ["train.py"])
    runpy.run_path("train.py", run_name="__main__")


def test_a_library_that_comes_during_the_run_opens_files_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import sys\nsys.modules['os'].kept = open\n")
    rehearse_script("train.py")
    kept = vars(os).pop("kept", open)
    with kept("after.txt", "w") as file:
        file.write("here")
    assert (tmp_path / "after.txt").read_text() == "here"
