"""Two trees, old and new, timed in turns: what a user waits for.

    python tests/house/speed.py OLD/src NEW/src [--rounds N]

Each measurement is a process of its own, old and new in turns, so that a machine that
grows slow is slow for both. Printed are the medians in milliseconds, the ratio of new
to old, and the old one's own spread: the ratio of its upper to its lower quartile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

TIMED = """
import time
began = time.perf_counter()
{}
print("MS", 1000 * (time.perf_counter() - began))
"""
COMMAND = """
from {main} import main
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    main({arguments!r})
"""
WARM = """
import runpy, time
import shapewright as sw
Net = runpy.run_path("examples/{file}")["{name}"]
net = Net().eval()
times = []
for _ in range(40):
    began = time.perf_counter()
    trace = sw.trace(net, "{spec}")
    times.append(time.perf_counter() - began)
print("MS", 1000 * sorted(times)[5])
"""
PROGRAMS = {
    "import shapewright": TIMED.format("import shapewright"),
    "--help": ("--help",),
    "trace, the first": ("trace", "-i", "f32[2, 3, 64, 64]", "examples/unet.py:UNet"),
    "trace, again": WARM.format(file="unet.py", name="UNet", spec="f32[2, 3, 64, 64]"),
    "trace of lenet, again": WARM.format(
        file="lenet.py", name="Net", spec="f32[8, 3, 32, 32]"
    ),
    "check": ("check", "-i", "f32[8, 1, 28, 28]", "examples/mismatch.py:Net"),
    "solve": ("solve", "-i", "f32[B, 3, H, W]", "examples/lenet.py:Net"),
    "rehearse": ("rehearse", "examples/train.py"),
    "explain": ("explain", "torch.cat([f32[2, 3], f32[4, 3]])"),
}
"""What is timed: a program, or the arguments of a command."""


def milliseconds(source: Path, program: str | tuple[str, ...]) -> float:
    """One measurement of one tree."""
    if not isinstance(program, str):
        main = "cli.main" if (source / "shapewright/cli").exists() else "faces.cli.main"
        text = COMMAND.format(main=f"shapewright.{main}", arguments=list(program))
        program = TIMED.format(text)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )
    line = next((x for x in done.stdout.splitlines() if x.startswith("MS ")), None)
    if line is None:
        raise SystemExit(f"{program}\n{done.stdout}\n{done.stderr}")
    return float(line.split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(f"{'':24}{'old':>9}{'new':>9}{'ratio':>8}{'spread of old':>15}")
    for name, program in PROGRAMS.items():
        times: dict[Path, list[float]] = {options.old: [], options.new: []}
        for tree in times:
            milliseconds(tree, program)  # its files are compiled and in memory
        for _ in range(options.rounds):
            for tree, found in times.items():
                found.append(milliseconds(tree.resolve(), program))
        old, new = (statistics.median(found) for found in times.values())
        low, _, high = statistics.quantiles(times[options.old], n=4)
        ratio, spread = new / old, high / low
        print(f"{name:24}{old:9.1f}{new:9.1f}{ratio:8.3f}{spread:15.3f}", flush=True)


if __name__ == "__main__":
    main()
