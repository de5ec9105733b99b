"""What Shapewright says of the posts: found, caused, mended, falsely said.

    python tests/posts/measure.py WAVE [NAME ...] [--source SRC] [-o FILE] [--explain]

Each program, and the same program after its answer, is asked as its label says, in a
copy of its folder. Printed for each: whether a finding names a line of the label, the
checked fixes, what is said of the answer, the seconds. `-o` keeps the whole output as
JSON, from which a reader judges causes and fixes: no line of a label can. Some programs
need torchvision or einops.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 120
ALONE = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""One thread; the package compiled once, as it is where it is installed."""


def ask(
    folder: Path, command: str, answer: bool, source: str, program: str = ""
) -> dict:
    """Run a command in a copy of a post's folder, or of another program in it."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy)
        if answer:
            shutil.copy(copy / "answer.py", copy / "program.py")
        if program:
            (copy / "program.py").write_text(program)
        (copy / "answer.py").unlink()
        (copy / "label.toml").unlink()
        words = shlex.split(command)
        formatted = [words[0], "--format", "json", *words[1:]]
        env = {**os.environ, "PYTHONPATH": source, **ALONE}
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "shapewright", *formatted], cwd=copy, env=env,
                capture_output=True, text=True, timeout=LIMIT,
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


def explain(folder: Path, label: dict, source: str) -> str:
    """Return the note of `sw.explaining()` on a real run of a post's program.

    A program that `check` is asked about is called with tensors of the shapes given.
    """
    words = shlex.split(label["command"])
    if label["kind"] != "error":
        return ""
    text = (folder / "program.py").read_text()
    if words[0] != "rehearse":
        text += _write_call(words)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy)
        lines = text.splitlines()
        future = [row for row in lines if row.startswith("from __future__")]
        rows = ["    " + row if row.strip() else row for row in lines]
        rows = [row for row in rows if row.strip() not in future]
        first = "".join(f"{row}\n" for row in future)
        head = f"{first}import shapewright as sw\nwith sw.explaining():\n    pass\n"
        (copy / "program.py").write_text(head + "\n".join(rows) + "\n")
        env = {**os.environ, "PYTHONPATH": source, **ALONE}
        given = (
            words[words.index("program.py") :]
            if words[0] == "rehearse"
            else ["program.py"]
        )
        try:
            done = subprocess.run(
                [sys.executable, *given], cwd=copy, env=env, capture_output=True,
                text=True, timeout=LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""
    lines = done.stderr.splitlines()
    first = next((n for n, line in enumerate(lines) if line.startswith("error[")), None)
    return "" if first is None else "\n".join(lines[first:])


def _write_call(words: list[str]) -> str:
    """Return the lines that call what `check` is asked about, with random tensors."""
    target = next(word for word in words if word.startswith("program.py:"))
    name = target.partition(":")[2]
    specs = [words[at + 1] for at, word in enumerate(words) if word == "-i"]
    made = []
    for spec in specs:
        dtype, _, sizes = spec.rstrip("]").partition("[")
        shape = f"({sizes},)" if sizes else "()"
        made.append({
            "i64": f"torch.ones({shape}, dtype=torch.long)",
            "bool": f"torch.ones({shape}, dtype=torch.bool)",
            "f64": f"torch.randn({shape}, dtype=torch.float64)",
        }.get(dtype, f"torch.randn({shape})"))  # fmt: skip
    return (
        "\nimport torch\n"
        f"target = {name}\n"
        "is_module = isinstance(target, type) and issubclass(target, torch.nn.Module)\n"
        "if not is_module and isinstance(target, torch.nn.Module): built = target\n"
        "elif is_module: built = target()\n"
        "else:\n"
        "    import inspect\n"
        "    takes = len(inspect.signature(target).parameters)\n"
        f"    built = target if takes >= {len(specs)} else target()\n"
        f"built({', '.join(made)})\n"
    )


def brief(told: dict | None) -> list[str]:
    """Return a line for each finding."""
    found = []
    for each in (told or {}).get("findings", ()):
        line = each["span"]["line"] if each["span"] else 0
        checked = [f"{f['message']} @{f['edits'][0]['start'][0]}" for f in each["fixes"]
                   if f["checked"]]  # fmt: skip
        said = f"{line}: {each['severity']}[{each['code']}] {each['message']}"
        for place in each["related"]:
            if place["span"]:
                said += f"\n        @{place['span']['line']} {place['message']}"
        for fix in checked:
            said += f"\n        FIX {fix}"
        for line in each.get("lines", ()):
            said += f"\n        | {line}"
        found.append(said)
    return found


def is_found(label: dict, told: dict | None) -> bool:
    """Return whether a finding, not a note, stands at a line of the label; of a draft
    with `more` mistakes, one for each of them.
    """
    places = []
    for each in (told or {}).get("findings", ()):
        lines = {each["span"]["line"]} if each["span"] else set()
        lines |= {place["span"]["line"] for place in each["related"] if place["span"]}
        if each["severity"] != "note":
            places.append(lines)
    mistakes = [label, *label.get("more", ())]
    return all(
        any(lines & set(mistake["lines"]) for lines in places) for mistake in mistakes
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wave")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--source", default=str(HERE.parents[1] / "src"))
    parser.add_argument("--folder", default=str(HERE))
    parser.add_argument("-o", "--output")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    wave = Path(options.folder) / options.wave
    folders = [f for f in sorted(wave.iterdir()) if (f / "label.toml").exists()]
    if options.names:
        folders = [f for f in folders if f.name in options.names]
    rows = {}
    for folder in folders:
        label = tomllib.loads((folder / "label.toml").read_text())
        row = {"label": label}
        row["program"] = ask(folder, label["command"], False, options.source)
        row["answer"] = ask(folder, label["command"], True, options.source)
        if options.explain:
            row["note"] = explain(folder, label, options.source)
        row["found"] = is_found(label, row["program"]["told"])
        rows[folder.name] = row
        if not options.quiet:
            seconds = row["program"]["seconds"]
            print(f"\n== {folder.name} [{label['kind']}] found={row['found']}"
                  f" {seconds:.1f} s lines={label['lines']}")  # fmt: skip
            print(f"   label: {label['cause']}\n   answer: {label['answer']}")
            for said in brief(row["program"]["told"]):
                print(f"   - {said}")
            if row["program"]["told"] is None:
                print("   LOST", row["program"]["stderr"][-600:])
            for said in brief(row["answer"]["told"]):
                if "note[" not in said.partition(" ")[2][:12]:
                    print(f"   AFTER {said}")
            if options.explain and row.get("note"):
                print("   NOTE", row["note"][:600])
        if options.output:
            Path(options.output).write_text(json.dumps(rows, indent=1))
    times = sorted(row["program"]["seconds"] for row in rows.values())
    if times:
        found = sum(row["found"] for row in rows.values())
        print(f"\n{found} of {len(rows)} found at a line;", end=" ")
        print(f"median {times[len(times) // 2]:.1f} s, worst {times[-1]:.1f} s")


if __name__ == "__main__":
    main()
