"""The long coverage, from a command line.

    python tests/zoo                      everything, then the tables in docs/
    python tests/zoo operators timm       some kinds only
    python tests/zoo timm --only resnet   items that contain a text; no tables
    python tests/zoo --resume             go on where the last run stopped

Prints one line a kind; exits 1 when a bar is not met.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# This folder has a `maps.py`, which must not stand for `tests/maps`.
sys.path[:] = [place for place in sys.path if Path(place).resolve() != HERE]
sys.path.insert(0, str(HERE.parent))

from zoo import runner, tables  # noqa: E402

KINDS = {
    "operators": ("zoo.operators", 300.0),
    "variants": ("zoo.variants", 300.0),
    "overlaps": ("zoo.overlaps", 300.0),
    "maps": ("zoo.maps", 120.0),
    "random": ("zoo.random_calls", 600.0),
    "small": ("zoo.small", 120.0),
    "timm": ("zoo.timm_models", 300.0),
    "finding": ("zoo.finding", 300.0),
    "transformers": ("zoo.transformers_models", 600.0),
}
"""Module of each kind, and how many seconds an item may take before it is given up."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python tests/zoo")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--only", metavar="TEXT", help="items whose name contains it")
    parser.add_argument("--resume", action="store_true", help="keep earlier results")
    options = parser.parse_args(arguments)
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        names = ", ".join(sorted(unknown))
        parser.error(f"no such kind: {names} (there are {', '.join(KINDS)})")
    met = [one(kind, options) for kind in options.kinds or KINDS]
    return 0 if all(met) else 1


def one(kind: str, options: argparse.Namespace) -> bool:
    """Run one kind, write its table unless only a part ran; is its bar met?"""
    module, limit = KINDS[kind]
    items = importlib.import_module(module).names()
    if options.only:
        items = [item for item in items if options.only in item]
    name = module.removeprefix("zoo.")
    part = bool(options.only)
    results = runner.run(name, items, limit, resume=options.resume, part=part)
    summary = tables.summarise(kind, results)
    if not options.only:
        tables.write(kind, results, summary)
    for line in summary.lines:
        print(f"{kind}: {line}")
    if options.only:
        print(tables.text(kind, results))
    return summary.met


if __name__ == "__main__":
    sys.exit(main())
