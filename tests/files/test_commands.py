"""No command changes a file of the user's, whatever the program does."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faces.processes import Server
from files.harmful import HEAD, MODEL, SCRIPTS
from files.trees import tree
from shapewright.runtime.files.confinement import confine_writes

KILLS = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
HELD_BY_THE_KERNEL = ("processes", "C")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def fill(folder: Path) -> None:
    """What a user may have: a checkpoint, numbers, a data base, folders."""
    (folder / "best.pt").write_bytes(bytes(range(256)) * 600)
    (folder / "numbers.bin").write_bytes(b"\1\2\3\4")
    (folder / "a.txt").write_text("mine")
    for name in ("d/b.txt", "e/c.txt"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("mine too")
    base = sqlite3.connect(folder / "runs.db")
    with base:
        base.execute("create table runs (number)")
        base.execute("insert into runs values (1)")
    base.close()


def is_held() -> bool:
    """Whether the kernel can hold a process here."""
    child = os.fork()
    if child == 0:
        os._exit(0 if confine_writes("/tmp") else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("command", ["trace", "check", "rehearse"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_files_are_what_they_were(
    name: str, command: str, server: Server, tmp_path: Path
) -> None:
    if name in HELD_BY_THE_KERNEL and not is_held():
        pytest.skip("no Landlock in this kernel")
    fill(tmp_path)
    (tmp_path / "run.py").write_text(HEAD + SCRIPTS[name])
    before = tree(tmp_path)
    done = server.run(tmp_path, command, "run.py")
    assert tree(tmp_path) == before
    if name != "C":
        assert done.code == 0, done.out + done.err
    if name == "processes":
        words = "ran as a process of its own, which can write no files"
        assert words in " ".join(done.out.split())


@pytest.mark.parametrize("command", ["trace", "check", "solve"])
def test_a_model_sees_what_its_file_wrote_and_changes_nothing(
    command: str, server: Server, tmp_path: Path
) -> None:
    fill(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    before = tree(tmp_path)
    done = server.run(tmp_path, command, "-i", "f32[B, 4]", "model.py:Net")
    assert done.code == 0, done.out + done.err
    assert tree(tmp_path) == before


def test_files_are_what_they_were_after_a_run_was_killed(tmp_path: Path) -> None:
    fill(tmp_path)
    script = "os.remove('a.txt'); open('best.pt', 'wb').close()\nprint('half-way')\n"
    wait = "sys.stderr.flush()\nwhile True:\n    pass\n"
    (tmp_path / "run.py").write_text(HEAD + script + wait)
    before = tree(tmp_path)
    running = subprocess.Popen(
        [sys.executable, "-m", "shapewright", "trace", "run.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    assert any("half-way" in line for line in running.stderr)
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stderr.read()  # until the last process that holds it has ended
    running.stderr.close()
    assert tree(tmp_path) == before


def test_writes_are_allowed_where_the_user_says_so(
    server: Server, tmp_path: Path
) -> None:
    fill(tmp_path)
    script = "open('new.txt', 'w').write('x'); torch.save(net, 'best.pt')\n"
    (tmp_path / "run.py").write_text(HEAD + script)
    checkpoint = (tmp_path / "best.pt").read_bytes()
    done = server.run(tmp_path, "trace", "--allow-writes", "run.py")
    assert done.code == 0, done.out + done.err
    assert (tmp_path / "new.txt").read_text() == "x"
    assert (tmp_path / "best.pt").read_bytes() == checkpoint  # it has no data to write


@pytest.mark.parametrize("command", ["trace", "check"])
def test_a_program_that_ends_its_process_is_told_of(
    command: str, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text(KILLS)
    done = server.run(tmp_path, command, "run.py")
    assert done.code == 1
    assert "the program's process was ended by SIGKILL" in done.out


def test_what_follows_a_target_that_ends_its_process_is_checked(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "ends.py").write_text(KILLS)
    (tmp_path / "right.py").write_text("import torch\ntorch.ones(2) + 1\n")
    done = server.run(tmp_path, "check", "ends.py", "right.py")
    assert done.code == 1
    assert "ends.py" in done.out
    assert "right.py: no findings" in done.out


def test_a_file_is_written_where_it_was_asked_for(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text(HEAD + "os.chdir('/')\n")
    done = server.run(tmp_path, "trace", "-o", "out.txt", "run.py")
    assert done.code == 0, done.err
    assert "Linear" in (tmp_path / "out.txt").read_text()
