"""Findings of the examples and of a part of the corpora, to compare between torches.

    PYTHON tests/zoo/same_findings.py > FILE.json     with the interpreter of each torch
    PYTHON tests/zoo/same_findings.py --compare A.json B.json ...

A line a program that differs, and the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = 60
SECONDS = 120.0


def targets() -> list[str]:
    """The examples, and 60 programs of the corpora, the same each time."""
    examples = sorted(str(each) for each in (ROOT / "examples").glob("*.py"))
    bugs = sorted(ROOT.glob("tests/bugs/programs/*.py"))
    scripts = sorted(ROOT.glob("tests/rehearsals/scripts/*/*.py"))
    draw = random.Random(13)
    some = draw.sample(bugs, PROGRAMS * 2 // 3) + draw.sample(scripts, PROGRAMS // 3)
    return [*examples, *map(str, some)]


def findings_of(target: str) -> list[list[object]]:
    """Code, severity and line of each finding, in a child."""
    from shapewright.runtime.processes.forks import ChildLost, run_in_child

    def checked() -> list[list[object]]:
        from shapewright import api
        from shapewright.inputs.errors import InputError

        try:
            report = api.check_target(target)
        except InputError as error:
            return [["not run", type(error).__name__, 0]]
        return [
            [each.code, each.severity, each.span.line if each.span else 0]
            for each in report.findings
        ]

    try:
        return run_in_child(checked, SECONDS)
    except ChildLost:
        return [["lost", "", 0]]


def compare(files: list[str]) -> int:
    """Print what differs from the first; how many programs do."""
    first, *others = [json.loads(Path(file).read_text()) for file in files]
    differing = 0
    for name, found in first["findings"].items():
        for other in others:
            if other["findings"].get(name) != found:
                differing += 1
                print(f"{name}\n  {first['torch']}: {found}")
                print(f"  {other['torch']}: {other['findings'].get(name)}")
    print(f"{len(first['findings'])} programs, {differing} differences")
    return 1 if differing else 0


def main() -> int:
    """Measure, or compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compare", nargs="+")
    options = parser.parse_args()
    if options.compare:
        return compare(options.compare)
    import torch

    found = {}
    for target in targets():
        name = os.path.relpath(target, ROOT)
        found[name] = findings_of(target)
        print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps({"torch": torch.__version__, "findings": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
