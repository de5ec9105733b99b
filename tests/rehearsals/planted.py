"""Mistakes planted in other people's scripts: how many are found at their line.

    python tests/rehearsals/planted.py [--real] CHECKOUT [NAME ...]

`CHECKOUT` is as `fixtures.py` says, the mistakes are those of `mistakes`. Of each:
whether an error or a warning has its place, a related place or an edit at one of its
lines, and what was told. With `--real` the scripts run for real on the CPU instead:
whether torch refuses what it should, at one of these lines, and runs the rest.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rehearsals import examples, fixtures
from rehearsals.mistakes import MISTAKES, Mistake

LIMIT = 60
Lines = set[tuple[str, int]]


def line_of(text: str, snippet: str) -> int:
    """The number of the line that a snippet means; `LookupError` if it means none."""
    *before, last = snippet.split(" ... ")
    lines, start = text.split("\n"), 0
    for piece in before:
        start = 1 + next(n for n in range(start, len(lines)) if piece in lines[n])
    found = [n for n in range(start, len(lines)) if last in lines[n]]
    if not found or (len(found) > 1 and not before):
        raise LookupError(f"{snippet!r} is in {len(found)} lines")
    return found[0] + 1


def plant(mistake: Mistake, folder: Path, script: Path) -> Lines:
    """Writes the mistake into a prepared copy; the lines at which a report counts."""
    file = folder / mistake.file if mistake.file else script
    counted = {(file.name, line_of(file.read_text(encoding="utf-8"), mistake.find))}
    for place in mistake.at:
        other, bar, snippet = place.rpartition("|")
        path = folder / other if bar else file
        counted.add((path.name, line_of(path.read_text(encoding="utf-8"), snippet)))
    lines = file.read_text(encoding="utf-8").split("\n")
    number = line_of("\n".join(lines), mistake.find)
    piece = mistake.find.split(" ... ")[-1]
    lines[number - 1] = lines[number - 1].replace(piece, mistake.put)
    file.write_text("\n".join(lines), encoding="utf-8")
    return counted


def places(finding: dict) -> Iterator[tuple[str, int]]:
    """Every line that a finding names: its own, related ones, those of its edits."""
    spans = [finding["span"], *(each["span"] for each in finding["related"])]
    for span in filter(None, spans):
        yield Path(span["file"]).name, span["line"]
    for fix in finding["fixes"]:
        for edit in fix["edits"]:
            yield Path(edit["file"]).name, edit["start"][0]


def rehearsed(prepared: fixtures.Prepared, counted: Lines) -> tuple[bool, list[str]]:
    """Whether a rehearsal tells of one of these lines, and all that it tells."""
    told, said, _, _ = examples.told_of(prepared)
    if told is None:
        return False, [said[-300:]]
    found, lines = False, []
    for each in told["findings"]:
        if each["severity"] != "note":
            found |= not counted.isdisjoint(places(each))
            span = each["span"] or {"file": "", "line": 0}
            lines.append(
                f"{each['severity']}[{each['code']}] "
                f"{Path(span['file']).name}:{span['line']} {each['message']}"
            )
    return found, lines or ["nothing"]


def run(prepared: fixtures.Prepared, counted: Lines, silent: bool) -> tuple[bool, list]:
    """Whether a real run is refused at one of these lines, or goes on if `silent`."""
    command = [sys.executable, str(prepared.script), *prepared.arguments]
    try:
        ran = subprocess.run(
            command, cwd=prepared.folder, env=os.environ | prepared.environment,
            capture_output=True, text=True, timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return silent, [f"ran for {LIMIT} s"]
    frames = re.findall(r'File "(.+)", line (\d+)', ran.stderr)
    passed = {(Path(file).name, int(line)) for file, line in frames}
    own = [f"{Path(file).name}:{line}" for file, line in frames if "site-" not in file]
    said = [*(ran.stderr.strip().split("\n")[-1:]), *own[-1:]] if ran.returncode else []
    if silent:
        return ran.returncode == 0, said
    return ran.returncode != 0 and not passed.isdisjoint(counted), said


def main(arguments: list[str]) -> int:
    """Print each mistake, then how many were found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args(arguments)
    good = count = 0
    for name in asked.names or MISTAKES:
        for mistake in MISTAKES[name]:
            with tempfile.TemporaryDirectory() as folder:
                prepared = fixtures.prepare(name, asked.checkout, Path(folder))
                lines = plant(mistake, prepared.folder, prepared.script)
                if asked.real:
                    right, told = run(prepared, lines, bool(mistake.code))
                else:
                    right, told = rehearsed(prepared, lines)
            good, count = good + right, count + 1
            shown = ", ".join(f"{file}:{line}" for file, line in sorted(lines))
            print(f"{'ok' if right else 'MISS':4} {name}, {mistake.place} ({shown})")
            for each in told:
                print(f"     {each}", flush=True)
    what = "as they should be" if asked.real else "found at their line"
    print(f"{good} of {count} {what}")
    return good < count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
