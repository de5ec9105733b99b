"""Whatever is done to files in a layer looks as if it were done, and is not done."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.trees import tree
from shapewright.runtime.files.program_files import keep_files

FILES = {"a": "one", "b": "two", "d/a": "three", "d/e/b": "four", "f/a": "five"}
NAMES = ("a", "b", "c", "d", "d/a", "d/c", "d/e", "d/e/b", "f", "f/a", "g", "g/h")

name = st.sampled_from(NAMES)


def wrote(mode: str) -> Callable[[str, str], Any]:
    def write(one: str, other: str) -> Any:
        with open(one, mode) as file:
            if mode == "r+":
                file.seek(1)
            return file.write(f"<{other}>")

    return write


def read(one: str, other: str) -> Any:
    with open(one) as file:
        return file.read()


def copied_tree(one: str, other: str) -> Any:
    if os.path.abspath(other).startswith(os.path.abspath(one)):
        return None  # into itself, without end
    return shutil.copytree(one, other, dirs_exist_ok=True)


def moved(one: str, other: str) -> Any:
    if other.startswith(one) or one.startswith(other):
        return None
    return shutil.move(one, other)


CHANGES: dict[str, Callable[[str, str], Any]] = {
    "write": wrote("w"),
    "append": wrote("a"),
    "make anew": wrote("x"),
    "overwrite": wrote("r+"),
    "read": read,
    "remove": lambda one, other: os.remove(one),
    "unlink": lambda one, other: Path(one).unlink(missing_ok=True),
    "rmdir": lambda one, other: os.rmdir(one),
    "rmtree": lambda one, other: shutil.rmtree(one),
    "mkdir": lambda one, other: os.mkdir(one),
    "makedirs": lambda one, other: os.makedirs(one, exist_ok=True),
    "touch": lambda one, other: Path(one).touch(),
    "rename": lambda one, other: os.rename(one, other),
    "replace": lambda one, other: os.replace(one, other),
    "truncate": lambda one, other: os.truncate(one, 2),
    "copy": lambda one, other: shutil.copyfile(one, other),
    "copy2": lambda one, other: shutil.copy2(one, other),
    "copytree": copied_tree,
    "move": moved,
    "list": lambda one, other: sorted(os.listdir(one)),
    "scan": lambda one, other: sorted(
        (each.name, each.is_dir(), each.is_file()) for each in os.scandir(one)
    ),
    "glob": lambda one, other: sorted(map(str, Path(one).glob("**/*"))),
    "ask": lambda one, other: (
        os.path.exists(one), os.path.isdir(one), os.access(one, os.R_OK)
    ),
}  # fmt: skip

change = st.tuples(st.sampled_from(sorted(CHANGES)), name, name)


def done(changes: list[tuple[str, str, str]]) -> list[Any]:
    """What each change gives or raises, and at the end all that is seen."""
    seen: list[Any] = []
    for what, one, other in changes:
        try:
            seen.append(CHANGES[what](one, other))
        except (OSError, shutil.Error) as error:
            seen.append(type(error).__name__)
    for folder, folders, files in os.walk("."):
        seen.append((folder, sorted(folders)))
        for file in files:
            seen.append((os.path.join(folder, file), read(f"{folder}/{file}", "")))
    return seen[: len(changes)] + sorted(seen[len(changes) :])


def fill(folder: Path) -> None:
    for file, text in FILES.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


@pytest.mark.long
@settings(max_examples=100)
@given(st.lists(change, max_size=12))
def test_a_layer_is_seen_as_the_real_files_would_be(
    changes: list[tuple[str, str, str]],
) -> None:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as real, tempfile.TemporaryDirectory() as mine:
        fill(Path(real))
        fill(Path(mine))
        kept = tree(Path(mine))
        try:
            os.chdir(real)
            expected = done(changes)
            os.chdir(mine)
            with keep_files():
                assert done(changes) == expected
                with keep_files():  # once more, from the beginning
                    assert done(changes) == expected
            assert tree(Path(mine)) == kept
        finally:
            os.chdir(before)


def test_an_error_names_the_file_that_the_program_named(tmp_path: Path) -> None:
    with keep_files(), pytest.raises(FileNotFoundError) as met:
        (tmp_path / "runs" / "last.pt").write_bytes(b"")
    assert met.value.filename == str(tmp_path / "runs" / "last.pt")


def test_a_folder_is_renamed_without_its_files_being_read(tmp_path: Path) -> None:
    large = tmp_path / "data" / "train.bin"
    large.parent.mkdir()
    with open(large, "wb") as file:
        file.truncate(1 << 40)  # more than any disk here has
    with keep_files():
        shutil.move(tmp_path / "data", tmp_path / "old")
        shutil.copy(tmp_path / "old" / "train.bin", tmp_path / "copy.bin")
        assert os.path.getsize(tmp_path / "copy.bin") == 1 << 40
        with open(tmp_path / "copy.bin", "r+b") as file:
            file.write(b"changed")
        assert not large.exists()
    assert large.stat().st_size == 1 << 40
    assert os.listdir(tmp_path) == ["data"]
