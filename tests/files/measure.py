"""Whether any command changes a file, over all scripts of the corpora.

    python tests/files/measure.py [--part N] [--kill]

Each script runs in a folder of its own with files that it may overwrite, under `trace`,
`check` and `rehearse`; with `--kill` the command is killed half-way too. `--part N`
takes every Nth script. Prints a line for each folder that is not what it was, and the
counts.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from files.harmful import HEAD, SCRIPTS  # noqa: E402
from files.test_commands import fill  # noqa: E402
from files.trees import tree  # noqa: E402

FOLDERS = ("examples", "tests/bugs/programs", "tests/rehearsals/scripts")
SECONDS = 60
HALF = 2.5
"""Seconds after which a command is killed: torch is imported, the program runs."""


def scripts() -> Iterator[tuple[str, str]]:
    """Every script: its name and its text."""
    for name, text in SCRIPTS.items():
        yield f"harmful: {name}", HEAD + text
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield str(file.relative_to(ROOT)), file.read_text()


def is_unchanged(text: str, command: str, kill: bool) -> bool:
    """Whether a folder is what it was after a command on a script in it."""
    folder = Path(tempfile.mkdtemp(prefix="measured-"))
    try:
        fill(folder)
        for name in ("model.pt", "checkpoint.pt", "last.pt", "results.json"):
            shutil.copy(folder / "best.pt", folder / name)
        (folder / "run.py").write_text(text)
        before = tree(folder)
        arguments = [sys.executable, "-m", "shapewright", command, "run.py"]
        running = subprocess.Popen(
            arguments, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(HALF if kill else SECONDS)
        running.send_signal(signal.SIGKILL)
        running.wait()
        time.sleep(0.2 if kill else 0)  # for a child that would go on
        return tree(folder) == before
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    runs = changed = 0
    for name, text in list(scripts())[:: options.part]:
        for command in ("trace", "check", "rehearse"):
            for kill in (False, True) if options.kill else (False,):
                runs += 1
                if not is_unchanged(text, command, kill):
                    changed += 1
                    print(f"changed by {command}{' killed' * kill}: {name}", flush=True)
    print(f"{runs} runs, {changed} that changed a file")


if __name__ == "__main__":
    main()
