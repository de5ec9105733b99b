"""The scripts of this folder, right and with each planted mistake, rehearsed.

    python tests/rehearsals/frameworks/measure.py [PART OF A NAME ...]

Run with an interpreter that has the libraries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.rehearsals.frameworks.mistakes import MISTAKES, Mistake  # noqa: E402

SCRIPTS = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if path.stem not in ("mistakes", "measure", "test_frameworks", "__init__")
)
LIMIT = 300
LAUNCH = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import torchvision_stub
torchvision_stub.install()
del sys.path[0]
from shapewright.cli.main import command
sys.exit(command())
"""
"""The command line, beside a torchvision that imports: torchmetrics asks for it."""


def changed(mistake: Mistake) -> tuple[str, int]:
    """The script with the mistake, and the line at which it must be told."""
    text = (HERE / f"{mistake.script}.py").read_text()
    assert mistake.old in text, mistake.old
    text = text.replace(mistake.old, mistake.new, 1)
    lines = text.split("\n")
    return text, 1 + next(at for at, line in enumerate(lines) if mistake.at in line)


def rehearsed(
    text: str, device: str = "cpu", python: str = sys.executable
) -> tuple[dict[str, Any], float, list[str]]:
    """What is told of a script of that text, the seconds, and the files left."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(text)
        began = time.perf_counter()
        done = subprocess.run(
            [python, "-c", LAUNCH, str(HERE.parents[1] / "zoo"), "rehearse", "--format",
             "json", "--device", device, "train.py"],
            cwd=folder, capture_output=True, text=True, timeout=LIMIT, env=os.environ,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        left = [each for each in os.listdir(folder) if each != "train.py"]
    try:
        return json.loads(done.stdout), seconds, left
    except ValueError:
        raise AssertionError(done.stderr[-3000:]) from None


def places(told: dict[str, Any]) -> list[tuple[int, bool, str]]:
    """Lines of the script that findings name, whether first, and their words."""
    found = []
    for finding in told["findings"]:
        words = f"{finding['severity']}[{finding['code']}] {finding['message']}"
        spans = [(finding["span"], True)]
        spans += [(each["span"], False) for each in finding["related"]]
        for span, first in spans:
            if span and span["file"] == "train.py":
                found.append((span["line"], first, words))
    return found


def show(told: dict[str, Any]) -> None:
    """Print what is told."""
    for finding in told["findings"]:
        span = finding["span"] or {"file": "", "line": 0}
        where = f"{Path(span['file']).name}:{span['line']}"
        words = f"{finding['code']}: {finding['message'][:150]}"
        print(f"         {finding['severity']} {where} {words}")
    if not told["complete"]:
        print("         did not reach its end")


def main() -> None:
    """Print each script and each mistake, then the numbers."""
    quiet = found = wrong = right = 0
    most = 0.0
    names = sys.argv[1:]
    for script in SCRIPTS:
        for device in ("cpu", "H100 80GB"):
            if names and not any(each in script for each in names):
                continue
            right += 1
            text = (HERE / f"{script}.py").read_text()
            told, seconds, left = rehearsed(text, device)
            most = max(most, seconds)
            ok = told["complete"] and not told["findings"] and not left
            quiet += ok
            print(
                f"{'ok' if ok else 'TOO MUCH':8} {script} on {device} ({seconds:.1f} s)"
            )
            for finding in told["findings"]:
                print(
                    f"         {finding['span']} {finding['code']} {finding['message']}"
                )
            print(f"         left behind: {left}" if left else "", end="")
    for name, mistake in MISTAKES.items():
        if names and not any(each in name for each in names):
            continue
        wrong += 1
        text, line = changed(mistake)
        told, seconds, left = rehearsed(text, mistake.device)
        most = max(most, seconds)
        hits = [each for each in places(told) if each[0] == line]
        found += bool(hits)
        state = (
            "MISS" if not hits else "ok" if any(each[1] for each in hits) else "near"
        )
        print(f"{state:8} {mistake.script}: {name}, line {line} ({seconds:.1f} s)")
        show(told)
    print(f"{quiet} of {right} right ones quiet, {found} of {wrong} mistakes found")
    print(f"at most {most:.1f} s")


if __name__ == "__main__":
    main()
