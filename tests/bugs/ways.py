"""Whether a wrong program looks right, whatever way the command line is asked.

    python tests/bugs/ways.py [--names A B ...] [--part N --seed S] [--verbose]

Each program is asked in five ways, each in a process of its own: the file, the model,
the model with the shapes of its example as `-i`, a script that runs the model on its
example, and the model without its example, so that inputs are looked for. A wrong
program must never end with 0 and a plain `no findings`, a legal one with an error.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faces.processes import shared
from tests.bugs import measure, verify

SECONDS = "120"
WAYS = ("file", "class", "inputs", "script", "search")
PLAIN = re.compile(r": no findings$")


@dataclass(frozen=True)
class Asked:
    """One way to ask about one program: what was written, and what was answered."""

    name: str
    kind: str
    way: str
    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line of the answer."""
        lines = (self.out.strip() or self.err.strip()).splitlines()
        return lines[-1] if lines else ""

    @property
    def result(self) -> str:
        """What the answer amounts to, in a word or two."""
        if self.code == 0 and PLAIN.search(self.last):
            return "plain"
        if self.code == 0:
            return "said as chosen" if "chosen" in self.last else "notes"
        words = {1: "findings", 2: "not run"}
        return words.get(self.code, f"exit {self.code}")

    @property
    def is_good(self) -> bool:
        """Whether the answer misleads nobody."""
        if self.code not in (0, 1, 2):
            return False
        if self.kind != "legal":
            return self.result != "plain"
        return self.code != 1 or (self.way == "search" and " error" not in self.last)


def spec_of(name: str) -> str | None:
    """The shapes of a program's example as a spec; None where they are no tensors."""
    import torch

    from shapewright.record.ops import SHORT

    space: dict[str, Any] = {"__name__": name, "__file__": name}
    exec(compile(verify.source(name), name, "exec"), space)
    given = space["example_inputs"]()
    named = given if isinstance(given, dict) else {}
    items = []
    for key, value in (*((None, v) for v in (() if named else given)), *named.items()):
        if not isinstance(value, torch.Tensor) or value.numel() > 256:
            known = isinstance(value, torch.Tensor) and value.is_floating_point()
            if not known:
                return None
        dtype = str(value.dtype).removeprefix("torch.")
        text = f"{SHORT.get(dtype, dtype)}{list(value.shape)}"
        if not value.is_floating_point():
            text += f"={value.tolist()}"
        items.append(text if key is None else f"{key}={text}")
    return ", ".join(items)


def command(name: str, way: str, folder: Path) -> list[str] | None:
    """The arguments of `shapewright check` for one way; None where it has none."""
    target = measure.target(name)
    file = target.rpartition(":")[0]
    if way == "file":
        return [file]
    if way == "class":
        return [target]
    if way == "inputs":
        spec = spec_of(name)
        return None if spec is None else ["-i", spec, target]
    if way == "search":
        bare = folder / f"{name}_bare.py"
        text = verify.source(name).replace("def example_inputs", "def _example")
        bare.write_text(text)
        return [f"{bare}:{target.rpartition(':')[2]}"]
    made = "Model()" if target.endswith(":Model") else "main"
    script = folder / f"{name}.py"
    call = "model(**given) if isinstance(given, dict) else model(*given)"
    script.write_text(
        f"{verify.source(name)}\n\nmodel, given = {made}, example_inputs()\n{call}\n"
    )
    return [str(script)]


def asked(name: str, way: str, folder: Path) -> Asked | None:
    """Ask one way."""
    try:
        arguments = command(name, way, folder)
    except Exception as error:  # of the program, while its example was made
        arguments = None
        print(f"{name}: no spec of its example: {error}", file=sys.stderr)
    if arguments is None:
        return None
    kind = verify.label(name)["kind"]
    done = shared().run(Path.cwd(), "check", "--timeout", SECONDS, *arguments)
    return Asked(name, kind, way, done.code, done.out, done.err)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="*")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--kinds", nargs="*", default=["error", "silent", "legal"])
    parser.add_argument("--part", type=int, help="so many of the programs, drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names = options.names or verify.names()
    names = [each for each in names if verify.label(each)["kind"] in options.kinds]
    if options.part:
        names = sorted(random.Random(options.seed).sample(names, options.part))
    counts: Counter[tuple[str, str, str]] = Counter()
    bad = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        jobs = [(name, way, Path(folder)) for name in names for way in options.ways]
        for each in pool.map(lambda job: asked(*job), jobs):
            if each is None:
                continue
            counts[each.kind, each.way, each.result] += 1
            bad += not each.is_good
            if options.verbose or not each.is_good:
                mark = "ok " if each.is_good else "BAD"
                print(f"{mark} {each.kind} {each.name} {each.way}: {each.last}")
                sys.stdout.flush()
    for kind, way, result in sorted(counts):
        print(f"{kind:7} {way:7} {result:15} {counts[kind, way, result]}")
    print(f"{bad} of {sum(counts.values())} answers mislead")
    return bad > 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
