"""How many domains of this corpus are found, and their demanding lines.

    python tests/solve/measure.py [NAME ...]

A domain is right where it says of every point of the label's bounds what the label
says; a demanding line where the line that raises first at a refused point is named by
a demand that does not hold there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shapewright.commands.solve import solve_command
from solve.points import accepted, points
from solve.verify import PROGRAMS, first_demand, label, names


def measured(name: str) -> tuple[bool, bool, str]:
    """Whether the domain is right, whether the lines are, and what was found."""
    said = label(name)
    file, _, rest = said["target"].partition(":")
    target = f"{PROGRAMS / file}:{rest}"
    began = time.perf_counter()
    solved = solve_command(target, said["spec"], None, None, said["training"])
    seconds = time.perf_counter() - began
    wrong, lost, count = [], [], 0
    for sizes in points(said):
        count += 1
        expected = accepted(said, sizes)
        if solved.takes(**sizes) != expected:
            wrong.append(sizes)
        elif not expected:
            demand = first_demand(said, sizes)
            lines = {
                each.span.line
                for each in solved.demands
                if each.span is not None and not each.demand.holds(sizes)
            }
            if demand and demand["line"] not in lines:
                lost.append((sizes, demand["line"], sorted(lines)))
    text = "; ".join(
        f"{d.demand} :{d.span.line if d.span else '?'}" for d in solved.demands
    )
    note = f"{solved.runs} runs, {seconds:.1f} s | {text}"
    if wrong:
        note += (
            f"\n    wrong at {len(wrong)} of {count}: {wrong[:3]} ({said['accepts']})"
        )
    if lost:
        note += f"\n    lines at {len(lost)}: {lost[:2]}"
    return not wrong, not wrong and not lost, note


def main(chosen: list[str]) -> None:
    right = lines = 0
    for name in chosen:
        try:
            exact, placed, note = measured(name)
        except Exception as error:
            exact, placed, note = False, False, f"{type(error).__name__}: {error}"
        right += exact
        lines += placed
        mark = "ok " if placed else "dom" if exact else "BAD"
        print(mark, name, note, flush=True)
    print(f"{right} of {len(chosen)} domains, {lines} with their lines")


if __name__ == "__main__":
    main(sys.argv[1:] or names())
