"""The scripts of this folder, right and with each planted mistake, rehearsed.

    python tests/rehearsals/libraries/measure.py [PART OF A NAME ...]

Run with an interpreter that has the libraries.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.rehearsals.libraries.cases import MISTAKES, RIGHT, Mistake  # noqa: E402

LIMIT = 300
FOR_A_GPU = "labels that stay on the CPU"


def copied(script: str, folder: Path) -> Path:
    """A copy of a script with all that lies beside it."""
    return Path(shutil.copytree(HERE / script, folder / script))


def plant(mistake: Mistake, folder: Path) -> int:
    """Write a mistake into a copy; the line of `train.py` at which it must be told."""
    file = folder / mistake.file
    text = file.read_text()
    assert mistake.old in text, mistake.old
    file.write_text(text.replace(mistake.old, mistake.new, 1))
    lines = (folder / "train.py").read_text().split("\n")
    return 1 + next(at for at, line in enumerate(lines) if mistake.at in line)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with what it holds."""
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


def rehearsed(
    folder: Path, arguments: str, device: str = "cpu", python: str = sys.executable
) -> tuple[dict[str, Any], bool]:
    """What is told of a copy, and whether the folder is as it was."""
    before = contents(folder)
    done = subprocess.run(
        [python, "-m", "shapewright", "rehearse", "--format", "json", "--device",
         device, "train.py", *arguments.split()],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    try:
        return json.loads(done.stdout), contents(folder) == before
    except ValueError:
        raise AssertionError(done.stderr[-3000:]) from None


def lines_of(told: dict[str, Any]) -> set[int]:
    """Lines of the script that findings and what they relate to name."""
    found = set()
    for finding in told["findings"]:
        spans = [finding["span"], *(each["span"] for each in finding["related"])]
        found |= {s["line"] for s in spans if s and s["file"] == "train.py"}
    return found


def show(told: dict[str, Any]) -> None:
    """Print what is told."""
    for each in told["findings"]:
        line = each["span"]["line"] if each["span"] else 0
        words = f"{each['code']}: {each['message'][:120]}"
        print(f"         {each['severity']} line {line} {words}")
    if not told["complete"]:
        print("         did not reach its end")


def main(names: list[str]) -> None:
    """Print each script and each mistake, then the numbers."""
    quiet = right = found = wrong = 0
    most = 0.0
    for script, calls in RIGHT.items():
        for arguments in calls:
            for device in ("cpu", "H100 80GB"):
                if names and not any(each in script for each in names):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    copy = copied(script, Path(folder))
                    began = time.perf_counter()
                    told, same = rehearsed(copy, arguments, device)
                    seconds = time.perf_counter() - began
                ok = told["complete"] and not told["findings"] and same
                quiet, right, most = quiet + ok, right + 1, max(most, seconds)
                state = "ok" if ok else "TOO MUCH" if same else "LEFT FILES"
                print(f"{state:8} {script} {arguments} on {device} ({seconds:.1f} s)")
                show(told)
    for name, mistake in MISTAKES.items():
        if names and not any(each in mistake.script for each in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = copied(mistake.script, Path(folder))
            line = plant(mistake, copy)
            device = "cuda" if name == FOR_A_GPU else "cpu"
            told, same = rehearsed(copy, mistake.arguments, device)
        hit = line in lines_of(told) and same
        found, wrong = found + hit, wrong + 1
        print(f"{'ok' if hit else 'MISS':8} {mistake.script}: {name}, line {line}")
        show(told)
    print(f"{quiet} of {right} right ones quiet, {found} of {wrong} mistakes found")
    print(f"at most {most:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
