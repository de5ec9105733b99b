"""Runs many items in a child process that may crash, hang or print.

The child writes one JSON line for each item; what it leaves behind when it dies is
kept, the item that killed it is recorded as `crashed` or `too slow`, and a new child
goes on with the next. Results lie in `.results/KIND.jsonl`, so a run can be resumed.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from select import select
from typing import Any, TextIO

HERE = Path(__file__).resolve().parent
PATH = "PYTHONPATH"
RESULTS = HERE / ".results"
Result = dict[str, Any]


def load(path: Path) -> dict[str, Result]:
    """Results kept from earlier runs, by item; the last one of an item counts."""
    if not path.exists():
        return {}
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return {line["item"]: line for line in lines}


def run(
    kind: str, items: Sequence[str], limit: float, *, resume: bool, part: bool
) -> list[Result]:
    """Check all items of a kind; a progress line on stderr; results in their order.

    `part` runs keep their results apart from those of the whole.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{kind}{'.part' if part else ''}.jsonl"
    kept = load(path) if resume else {}
    todo = [item for item in items if item not in kept]
    began = time.monotonic()
    with path.open("a" if resume else "w") as out:
        for done, result in enumerate(_results(kind, todo, limit), 1):
            kept[result["item"]] = result
            out.write(json.dumps(result) + "\n")
            out.flush()
            _progress(kind, done, len(todo), time.monotonic() - began)
    if todo:
        print(file=sys.stderr)
    return [kept[item] for item in items]


def _progress(kind: str, done: int, total: int, seconds: float) -> None:
    if sys.stderr.isatty() or done % 50 == 0 or done == total:
        end = "\r" if sys.stderr.isatty() else "\n"
        text = f"{kind}: {done} of {total}, {seconds:.0f} s"
        print(text, end=end, file=sys.stderr, flush=True)


def _results(kind: str, items: Sequence[str], limit: float) -> Iterator[Result]:
    rest = list(items)
    while rest:
        for result in _child(kind, tuple(rest), limit):
            assert result["item"] == rest[0]
            rest.pop(0)
            yield result


def _child(kind: str, items: Sequence[str], limit: float) -> Iterator[Result]:
    """Results of one child, the one for the item that it died on included."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "zoo.runner", kind, str(writer)]
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get(PATH)])])
    environment = {**os.environ, PATH: path, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, pass_fds=[writer], env=environment, text=True,
    ) as child:  # fmt: skip
        os.close(writer)
        assert child.stdin is not None
        child.stdin.write("\n".join(items))
        child.stdin.close()
        lines = _lines(reader, limit)
        for item, line in zip(items, lines, strict=False):
            if not line:
                child.kill()
                why = "too slow" if line is None else "crashed"
                yield {"item": item, "verdict": why, "cause": why}
                break
            yield json.loads(line)
    os.close(reader)


def _lines(reader: int, limit: float) -> Iterator[bytes | None]:
    """Whole lines from a pipe; b"" once at the end, None when one comes too late."""
    buffer = b""
    while True:
        while b"\n" not in buffer:
            chunk = (
                os.read(reader, 65536) if select([reader], [], [], limit)[0] else None
            )
            if not chunk:
                yield chunk
                return
            buffer += chunk
        line, buffer = buffer.split(b"\n", 1)
        yield line


def work(kind: str, out: TextIO) -> None:
    """The child: check each item named on stdin."""
    module = importlib.import_module(f"zoo.{kind}")
    check: Callable[[str], Result] = module.check
    for item in sys.stdin.read().splitlines():
        began = time.monotonic()
        result = {"item": item, **check(item)}
        result["seconds"] = round(time.monotonic() - began, 3)
        out.write(json.dumps(result) + "\n")
        out.flush()


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[2]), "w") as channel:
        work(sys.argv[1], channel)
