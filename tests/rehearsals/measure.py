"""Which mistakes of training scripts are found at their line, and what is told wrongly.

    python tests/rehearsals/measure.py [--half seen|unseen|later] [NAME ...]

Each script is rehearsed by the command line, in an empty folder.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHAPEWRIGHT = [sys.executable, "-m", "shapewright"]
LIMIT = 300


def labels(half: str | None, names: list[str]) -> dict[str, dict]:
    """The labels that are asked for."""
    found = {
        path.stem: json.loads(path.read_text())
        for path in sorted((HERE / "labels").glob("*.json"))
    }
    if names:
        return {name: found[name] for name in names}
    return {n: each for n, each in found.items() if half in (None, each["half"])}


def rehearsed(label: dict) -> tuple[dict | None, str, float]:
    """What is told of a script, what it printed, and the seconds it took."""
    script = HERE / label["script"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [
            *SHAPEWRIGHT, "rehearse", "--format", "json", "--device", label["device"],
            str(script), *label["arguments"],
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=LIMIT,
                env=os.environ,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, "too slow", time.perf_counter() - began
        seconds = time.perf_counter() - began
        left = os.listdir(folder)
    if left:
        return None, f"left files behind: {left}", seconds
    try:
        return json.loads(done.stdout), done.stderr, seconds
    except ValueError:
        return None, done.stderr, seconds


def judged(label: dict, told: dict) -> tuple[bool, list[str]]:
    """Whether the mistake is told at one of its lines; what is told besides."""
    file = Path(label["script"]).name
    lines, hit, others = set(label.get("lines", ())), False, []
    for finding in told["findings"]:
        if finding["severity"] == "note":
            continue
        span = finding["span"] or {"file": "", "line": 0}
        first = span["file"].endswith(file) and span["line"] in lines
        places = [each["span"] for each in finding["related"]]
        edits = [edit for fix in finding["fixes"] for edit in fix["edits"]]
        near = first or any(
            place["file"].endswith(file) and place["line"] in lines for place in places
        )
        near |= any(
            edit["file"].endswith(file) and edit["start"][0] in lines for edit in edits
        )
        if near and label["kind"] != "right":
            hit = True
        else:
            line = f"{Path(span['file']).name}:{span['line']}"
            severity = finding["severity"]
            others.append(f"{severity}[{finding['code']}] {line} {finding['message']}")
    if not told["complete"]:
        others.append("did not reach its end")
    return hit, others


def main() -> None:
    """Print each script, then the numbers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=("seen", "unseen", "later"))
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    wrong = right = found = quiet = false = 0
    most = 0.0
    for name, label in labels(asked.half, asked.names).items():
        told, said, seconds = rehearsed(label)
        most = max(most, seconds)
        is_right = label["kind"] == "right"
        wrong, right = wrong + (not is_right), right + is_right
        if told is None:
            print(f"FAILED {name} ({seconds:.1f} s)\n{said[-1500:]}")
            continue
        hit, others = judged(label, told)
        found += hit
        quiet += is_right and not others
        false += any(each.startswith("error") for each in others)
        state = "ok" if (hit or is_right) and not others else "MISS" if not hit and (
            not is_right) else "TOO MUCH"  # fmt: skip
        lines = label.get("lines", "")
        print(f"{state:8} {name} [{label['kind']}] {lines} ({seconds:.1f} s)")
        for each in others:
            print(f"         {each}")
    print(f"{found} of {wrong} wrong found at their line")
    print(f"{quiet} of {right} right ones quiet, {false} with an error elsewhere")
    print(f"at most {most:.1f} s")


if __name__ == "__main__":
    main()
