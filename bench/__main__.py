"""The measured comparison: ``python -m bench``.

    python -m bench                 everything, then docs/benchmarks.md
    python -m bench forward large   some sections; prints, writes nothing
    python -m bench --rounds 5      fewer rounds

Exits 1 when a bar is not met.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import report
from bench.sections import SECTIONS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=list(SECTIONS))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    made = []
    for name in options.sections or SECTIONS:
        print(f"{name}:", file=sys.stderr)
        section = SECTIONS[name](options.rounds)
        made.append(section)
        print(report.markdown(section) + "\n", flush=True)
    if not options.sections:
        PAGE.write_text(report.page(made, options.rounds))
    return 0 if all(section.met for section in made) else 1


if __name__ == "__main__":
    sys.exit(main())
