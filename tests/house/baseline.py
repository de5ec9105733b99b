"""What every command prints over the examples and corpora, to hold a new tree against.

    python tests/house/baseline.py write FILE.json [--keep FOLDER] [--part N]
    python tests/house/baseline.py compare OLD.json NEW.json

`write` runs each command in a process of its own and notes a hash of what it printed,
without what changes from run to run: times, temporary folders, memory. `--keep` stores
the texts, so that a difference can be looked at; `--part N` takes every Nth command.
`compare` names the commands whose output is another, and ends with 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from faces.processes import shared  # noqa: E402

Command = tuple[str, ...]

UNSTABLE = (
    (r"/tmp/[\w./-]*", "TEMPORARY"),
    (r"\b\d+(\.\d+)? (us|ms|s|min)\b", "TIME"),
    (r'("(?:seconds|milliseconds|elapsed)": ?)[\d.e-]+', r"\1TIME"),
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
)
"""What differs between two runs of the same tree, and what stands for it."""

CALLS = (
    "f32[2, 3] + f32[3]",
    "torch.gather(f32[4, 6], 0, i64[2, 6])",
    "torch.einsum('bij,bjk->bik', f32[2, 3, 4], f32[2, 4, 5])",
    "torch.cat([f32[2, 3], f32[4, 3]])",
    "f32[2, 3, 4].permute(2, 0, 1)",
    "f32[2, 3].view(3, 2)",
    "F.unfold(f32[1, 2, 4, 4], 2)",
    "nn.Conv2d(3, 8, 3)(f32[1, 3, 6, 6])",
    "nn.Linear(400, 120)(f32[8, 256])",
    "nn.MultiheadAttention(8, 2)(f32[5, 2, 8], f32[5, 2, 8], f32[5, 2, 8])",
    "F.max_pool2d(f32[1, 1, 4, 4], 2)",
    "f32[3, 4].sum(0)",
    "F.cross_entropy(f32[3, 5], i64[3])",
    "torch.scatter(f32[3, 5], 1, i64[3, 2], f32[3, 2])",
)
LETTERED = (
    ("f32[B, 3, H, W]", "examples/unet.py:UNet"),
    ("f32[B, 1, H, W]", "examples/mismatch.py:Net"),
    ("f32[B, 3, H, W]", "examples/lenet.py:Net"),
)


def commands() -> Iterator[Command]:
    """Every command, the same each time."""
    for call in CALLS:
        for form in ("text", "svg", "html", "json"):
            yield ("explain", form, call)
    for spec, target in LETTERED:
        yield ("trace", "-i", spec, target)
        yield ("solve", "-i", spec, target)
    for file in sorted((ROOT / "examples").glob("*.py")):
        name = str(file.relative_to(ROOT))
        for more in ((), ("--by", "line"), ("--by", "op"), ("--format", "json")):
            yield ("trace", *more, name)
        yield ("check", name)
    for file in sorted((ROOT / "tests/bugs/programs").glob("*.py")):
        name = str(file.relative_to(ROOT))
        yield ("check", name)
        yield ("check", "--format", "json", name)
    for file in sorted((ROOT / "tests/models").glob("*.py")):
        yield ("check", str(file.relative_to(ROOT)))
    for file in sorted((ROOT / "tests/rehearsals/scripts").rglob("*.py")):
        name = str(file.relative_to(ROOT))
        yield ("rehearse", name)
        yield ("rehearse", "--format", "json", "--device", "cuda", name)


def output(command: Command) -> str:
    """What a command prints, and its exit code, without what is unstable."""
    drawn = ""
    with tempfile.TemporaryDirectory() as folder:
        arguments = list(command)
        if command[0] == "explain":
            form, call = command[1:]
            file = Path(folder, f"drawing.{form}")
            arguments = ["explain", call]
            if form != "text":
                arguments = ["explain", "-o", str(file), call]
        done = shared().run(ROOT, *arguments, COLUMNS="100")
        if command[0] == "explain" and command[1] != "text" and file.exists():
            drawn = file.read_text("utf-8")
    text = f"exit code {done.code}\n{done.out}\n{drawn}"
    for pattern, instead in UNSTABLE:
        text = re.sub(pattern, instead, text)
    return text


def write(file: Path, keep: Path | None, part: int) -> None:
    chosen = list(commands())[::part]
    hashes: dict[str, str] = {}
    with ThreadPoolExecutor(2) as pool:
        for command, text in zip(chosen, pool.map(output, chosen), strict=True):
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            hashes[" ".join(command)] = digest
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{digest}.txt").write_text(text, "utf-8")
    file.write_text(json.dumps(hashes, indent=1) + "\n")
    print(f"{len(hashes)} commands")


def compare(old: Path, new: Path) -> int:
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    differ = [name for name in before if after.get(name) != before[name]]
    for name in differ:
        print(f"{before[name]} {after.get(name, 'not run'):16} {name}")
    print(f"{len(differ)} of {len(before)} differ")
    return bool(differ)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--part", type=int, default=1)
    options = parser.parse_args()
    if options.what == "compare":
        return compare(*options.files)
    write(options.files[0], options.keep, options.part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
