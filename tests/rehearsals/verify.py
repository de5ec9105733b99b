"""Every label of this corpus, checked by running its script for real on the CPU.

    python tests/rehearsals/verify.py [NAME ...]

A wrong script raises at the line its label names, or runs through where torch says
nothing; mended it runs through. A right script runs through. Each runs from its first
line to its last as `__main__`, in a folder of its own, in a process split off from this
one, which has torch loaded already. Where the mistake is one of devices, meta stands
for the GPU: it raises at the same line, and mended the script goes on until a value is
read, which meta has not. Nothing here reads Shapewright.
"""

import functools
import json
import multiprocessing
import os
import runpy
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
LABELS = HERE / "labels"
SCRIPTS = HERE / "scripts"

KEYS = {"script", "arguments", "half", "about", "kind", "device"}
WRONG_KEYS = {
    *("lines", "fails", "severity", "torch", "when", "batches", "verified", "mended"),
}
OUTCOMES = {
    "raises": {"error"},
    "warns": {"message"},
    "silent": {"prints"},
}
LIMIT = 300


@dataclass(frozen=True)
class Ran:
    """What one run of a script gave: what it printed, or where and why it raised."""

    line: int | None = None
    error: str = ""
    why: str = ""
    printed: str = ""
    warned: str = ""


def names() -> list[str]:
    return sorted(path.stem for path in SCRIPTS.glob("*/*.py"))


@functools.cache
def label(name: str) -> dict[str, Any]:
    text = (LABELS / f"{name}.json").read_text(encoding="utf-8")
    said: dict[str, Any] = json.loads(text)
    return said


@functools.cache
def source(name: str) -> str:
    return (HERE / label(name)["script"]).read_text(encoding="utf-8")


def mended(name: str) -> str:
    """The script with the lines that its label puts in place of its own."""
    lines = source(name).splitlines()
    for number, text in label(name)["mended"].items():
        lines[int(number) - 1] = text
    return "\n".join(lines) + "\n"


def on_meta(text: str) -> str:
    """The text with meta in place of a GPU, which then is there."""
    for spelling in ('"cuda:0"', '"cuda"'):
        text = text.replace(spelling, '"meta"')
    return text.replace("torch.cuda.is_available()", "True")


def run(name: str, text: str) -> Ran:
    """Runs this text as the script of that name, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.py"
        file.write_text(text, encoding="utf-8")
        context = multiprocessing.get_context("fork")
        child = context.Process(target=run_here, args=(file, label(name)["arguments"]))
        child.start()
        child.join(LIMIT)
        if child.is_alive():
            child.kill()
            child.join()
            return Ran(line=-1, error="TimeoutError", why=f"over {LIMIT} s")
        result = Path(folder) / "result.json"
        if not result.exists():
            return Ran(line=-1, error="exit", why=f"ended with {child.exitcode}")
        return Ran(**json.loads(result.read_text(encoding="utf-8")))


def run_here(file: Path, arguments: list[str]) -> None:
    """Runs the file in this process and leaves beside it what came of it."""
    folder = file.parent
    os.chdir(folder)
    sys.argv = [str(file), *arguments]
    line, error, why = None, "", ""
    with (
        (folder / "printed.txt").open("w", encoding="utf-8") as printed,
        (folder / "warned.txt").open("w", encoding="utf-8") as warned,
        redirect_stdout(printed),
        redirect_stderr(warned),
    ):
        torch.manual_seed(0)
        np.random.seed(0)
        warnings.simplefilter("default")
        try:
            runpy.run_path(str(file), run_name="__main__")
        except BaseException as raised:
            if not (isinstance(raised, SystemExit) and not raised.code):
                frames = traceback.extract_tb(raised.__traceback__)
                inside = [f.lineno for f in frames if f.filename == str(file)]
                line = (inside[-1] if inside else None) or -1
                error = type(raised).__name__
                why = (str(raised).splitlines() or [""])[0]
    ran = Ran(
        line=line,
        error=error,
        why=why,
        printed=(folder / "printed.txt").read_text(encoding="utf-8"),
        warned=(folder / "warned.txt").read_text(encoding="utf-8"),
    )
    (folder / "result.json").write_text(json.dumps(asdict(ran)), encoding="utf-8")


def malformed(name: str) -> Iterator[str]:
    """What is wrong with the label as a document; nothing runs."""
    said = label(name)
    wrong = said["kind"] != "right"
    expected = KEYS
    if wrong:
        expected = KEYS | WRONG_KEYS | OUTCOMES[said["torch"]]
    if set(said) != expected:
        yield f"keys of the label: {sorted(set(said) ^ expected)}"
        return
    folder = "wrong" if wrong else "right"
    if said["script"] != f"scripts/{folder}/{name}.py":
        yield "script is another file"
    if said["half"] not in ("seen", "unseen", "later"):
        yield "half"
    if not wrong:
        return
    count = len(source(name).splitlines())
    for number in [*said["lines"], *map(int, said["mended"])]:
        if not 0 < number <= count:
            yield f"no line {number}"
    if not said["lines"] or set(said["fails"]) - set(said["lines"]):
        yield "lines that fail are lines at which a report counts"
    if said["torch"] == "raises" and len(said["fails"]) != 1:
        yield "a script raises at one line"
    if (said["verified"] == "by running") != (said["device"] == "cpu"):
        yield "a script for another device is verified on meta"
    if mended(name) == source(name):
        yield "mending changes nothing"


def problems(name: str) -> list[str]:
    """Everything the label says that a run does not confirm."""
    found = list(malformed(name))
    if found:
        return found
    said = label(name)
    as_it_is = run(name, source(name))
    if said["kind"] == "right" or said["device"] != "cpu":
        found += unexpected(as_it_is, "as it is")
    else:
        found += unlike(said, as_it_is)
    if said["kind"] == "right":
        return found
    if said["device"] != "cpu":
        found += unlike(said, run(name, on_meta(source(name))))
        why = run(name, on_meta(mended(name))).why
        if not ("item()" in why and "meta" in why):
            found.append(f"mended, on meta: {why or 'ran through'}")
    right = run(name, mended(name))
    found += unexpected(right, "mended")
    if said["torch"] == "silent":
        differs = "same" if said_by(right) == said_by(as_it_is) else "differs"
        if differs != said["prints"]:
            found.append(f"mended, what it prints {differs}")
    if said["torch"] == "warns" and said["message"] in right.warned:
        found.append("mended, it still warns")
    return found


def said_by(ran: Ran) -> tuple[str, str]:
    """What a run wrote, without the warnings, which name folders and lines."""
    logged = [line for line in ran.warned.splitlines() if "Warning" not in line]
    return ran.printed, "\n".join(logged)


def unlike(said: dict[str, Any], ran: Ran) -> Iterator[str]:
    """Where a run of a wrong script is not what its label says of torch."""
    if said["torch"] != "raises":
        yield from unexpected(ran, "as it is")
        if said["torch"] == "warns" and said["message"] not in ran.warned:
            yield f"does not warn of {said['message']!r}"
        return
    if [ran.line] != said["fails"] or ran.error != said["error"]:
        got = f"line {ran.line} {ran.error}: {ran.why}" if ran.line else "no error"
        yield f"meant line {said['fails'][0]} {said['error']}, got {got}"


def unexpected(ran: Ran, when: str) -> Iterator[str]:
    if ran.line is not None:
        yield f"{when}: raised at line {ran.line}, {ran.error}: {ran.why}"


def main(chosen: list[str]) -> int:
    torch.set_num_threads(1)
    bad = 0
    if orphans := {path.stem for path in LABELS.glob("*.json")} ^ set(names()):
        print(f"without its other half: {sorted(orphans)}")
        bad += 1
    checked = chosen or names()
    kinds: Counter[str] = Counter()
    for name in checked:
        found = problems(name)
        kinds[label(name)["kind"]] += 1
        for problem in found:
            print(f"{name}: {problem}", flush=True)
        bad += bool(found)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    print(f"{len(checked)} scripts, {bad} with problems")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
