"""`-o` writes a file whole, and never replaces one that is not ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from shapewright.cli.output import MARK, save
from shapewright.cli.parser import Unusable

RECORD = '{"version":1,"kind":"trace","target":"model.py:Net","ops":[]}'
TABLE = f"{MARK}trace model.py:Net\nNet  (8, 3) -> (8, 10)\n"


@pytest.mark.parametrize(
    "before",
    [RECORD, TABLE, "", '{\n "version": 2,\n "kind": "trace",\n "target": "x"}'],
)
def test_our_own_files_are_replaced(tmp_path: Path, before: str) -> None:
    file = tmp_path / "trace.json"
    file.write_text(before)
    save(file, RECORD)
    assert file.read_text() == RECORD
    assert os.listdir(tmp_path) == ["trace.json"]


@pytest.mark.parametrize(
    "before", ["import torch\n", '{"kind": "notebook"}', "{}", "\x00\xff", "# notes\n"]
)
def test_files_of_others_are_left_alone(tmp_path: Path, before: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(before, encoding="latin-1")
    with pytest.raises(Unusable, match="was not written by shapewright"):
        save(file, RECORD)
    assert file.read_text(encoding="latin-1") == before


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    save(tmp_path / "new", RECORD)
    assert (tmp_path / "new").stat().st_mode == ordinary.stat().st_mode


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text(RECORD)
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    save(link, RECORD + "\n")
    assert link.is_symlink()
    assert real.read_text() == RECORD + "\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="is a folder"):
        save(tmp_path, RECORD)


def test_devices_are_written_to() -> None:
    save(Path(os.devnull), RECORD)
    assert not Path(os.devnull).is_file()
