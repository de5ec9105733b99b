"""What Shapewright says of public repositories, from a fresh checkout without data.

    python tests/repositories/measure.py --folder CHECKOUTS [NAME ...] [--device D]
        [--source SRC] [-o FILE] [--plain]

`CHECKOUTS` holds each repository under its own name. Each is copied, and its command of
`commands.toml` is rehearsed in the copy. Printed for each: the seconds, the findings,
what was stood in for, and how far the story went. `--plain` leaves the launcher out of
the command, for a tree that does not read launchers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 300


def read_block(readme: str, words: str) -> str:
    """Return the first Python block of a README that holds some words."""
    for block in re.findall(r"```python\n(.*?)```", readme, re.S):
        if words in block:
            return block
    raise SystemExit(f"no block with {words!r}")


def leave_out_launcher(words: list[str]) -> list[str]:
    """Return a command from its script on."""
    for at, word in enumerate(words):
        if word.endswith((".py", ".sh")):
            return words[at:]
        if word == "-m" and not words[at + 1].startswith("torch."):
            rest = [each for each in words[at + 2 :] if each != "--"]
            return [words[at + 1].replace(".", "/") + ".py", *rest]
    raise SystemExit(f"no script in {words}")


def ask(run: dict, folder: Path, device: str, source: str, plain: bool) -> dict:
    """Rehearse a repository's command in a copy of its checkout."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy)
        inner = copy / run.get("folder", "")
        if "block" in run:
            text = read_block((copy / "README.md").read_text(), run["block"])
            (inner / "train.py").write_text(text)
        words, env = shlex.split(run["command"]), {**os.environ, "OMP_NUM_THREADS": "1"}
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            env[name] = value
        if plain:
            words = leave_out_launcher(words)
        paths = [source, str(inner)]
        if "path" in run:
            paths.append(str((inner / run["path"]).resolve()))
        env["PYTHONPATH"] = os.pathsep.join(paths)
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "shapewright", "rehearse", "--format", "json",
                 "--device", device, "--timeout", str(LIMIT - 60), *words],
                cwd=inner, env=env, capture_output=True, text=True, timeout=LIMIT,
            )  # fmt: skip
            out, err, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            out, err, code = "", "timeout", -1
        seconds = time.perf_counter() - began
    try:
        told = json.loads(out)
    except ValueError:
        told = None
    return {"told": told, "stderr": err[-1500:], "code": code, "seconds": seconds}


def summarize(row: dict) -> list[str]:
    """Return what a reader wants to know of an answer."""
    told = row["told"]
    if told is None:
        return [row["stderr"].strip()[-700:] or "no report"]
    lines = []
    for each in told["findings"]:
        span = each.get("span") or {}
        lines.append(
            f"{each['severity']}[{each['code']}]"
            f" {span.get('file', '')}:{span.get('line', '')} {each['message'][:400]}"
        )
    lines += [f"assumed: {each['message'][:200]}" for each in told["assumptions"]]
    story = told.get("rehearsal", {}).get("story")
    if story:
        lines += [f"story: {each}" for each in list_moments(story)]
    return lines


def list_moments(moment: dict, depth: int = 0) -> list[str]:
    """Return a line for each loop and step of a story."""
    said = " ".join(
        f"{name}={value}"
        for name, value in moment.items()
        if name not in ("inner", "file", "tensors") and value not in (None, "", [], {})
    )
    lines = [("  " * depth + said)[:160]]
    for inner in moment.get("inner", []):
        lines += list_moments(inner, depth + 1)
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--source", default=str(HERE.parent.parent / "src"))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    runs = tomllib.loads((HERE / "commands.toml").read_text())["run"]
    rows = {}
    for run in runs:
        name = run["repository"].rpartition("/")[2]
        if options.names and name not in options.names:
            continue
        row = ask(run, options.folder / name, options.device, options.source,
                  options.plain)  # fmt: skip
        rows[name] = row
        ended = bool(row["told"] and row["told"].get("complete"))
        print(f"== {name}: {row['seconds']:.1f} s, complete={ended}", flush=True)
        for line in summarize(row)[:40]:
            print("   ", line, flush=True)
        if options.output:
            options.output.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
