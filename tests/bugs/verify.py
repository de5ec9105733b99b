"""Every label of this corpus, checked by running its program for real on the CPU.

    python tests/bugs/verify.py [NAME ...]

An error program must raise where its label says. With the edits of its first
mistake it must raise where the second is said to be, and so on; with all edits it
must run and return the shapes that are meant. Mistakes are independent: with all
of them mended but one, the program raises where that one is said to be. A silent
program runs, and mending it changes what it returns; one with a tensor on the wrong
device raises once the module and its inputs are moved.
"""

import functools
import sys
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
LABELS = HERE / "labels"

LABEL_KEYS = {"kind", "about", "mistakes", "meant"}
MISTAKE_KEYS = {"family", "fails", "mistake", "edits", "also"}
EDIT_KEYS = {"line", "old", "new"}
SILENT_FAMILIES = {
    "outer-broadcast",
    "view-mixes-dims",
    "wrong-axis",
    "batch-axis",
    "mask-axis",
    "lost-batch",
    "layout",
    "device",
    "einsum-reduction",
    "batch-dependence",
}


@dataclass(frozen=True)
class Ran:
    """What one run of a program gave: its tensors, or where and why it raised."""

    tensors: tuple[torch.Tensor, ...] = ()
    line: int | None = None
    why: str = ""

    @property
    def shapes(self) -> list[list[int]]:
        return [list(tensor.shape) for tensor in self.tensors]


def names() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


@functools.cache
def source(name: str) -> str:
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


@functools.cache
def label(name: str) -> dict[str, Any]:
    return tomllib.loads((LABELS / f"{name}.toml").read_text(encoding="utf-8"))


def edited(name: str, edits: list[dict[str, Any]]) -> str:
    """The program with these replacements; each must meet its text exactly once."""
    lines = source(name).splitlines()
    for edit in edits:
        at = edit["line"] - 1
        if lines[at].count(edit["old"]) != 1:
            raise ValueError(f"line {edit['line']} has not one {edit['old']!r}")
        lines[at] = lines[at].replace(edit["old"], edit["new"])
    return "\n".join(lines) + "\n"


def run(name: str, text: str, device: str = "cpu") -> Ran:
    """Runs the text of a program as if it were the file of this name.

    On another device (meta is one that every machine has) the module and its inputs
    are moved there, as a user would move them.
    """
    file = str(PROGRAMS / f"{name}.py")
    space: dict[str, Any] = {"__name__": f"program_{name}", "__file__": file}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, file, "exec"), space)
            given = tree_map_only(
                torch.Tensor,
                lambda tensor: tensor.to(device),
                space["example_inputs"](),
            )
            torch.manual_seed(0)
            call = space["Model"]().to(device) if "Model" in space else space["main"]
            result = call(**given) if isinstance(given, dict) else call(*given)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            inside = [frame.lineno for frame in frames if frame.filename == file]
            why = f"{type(error).__name__}: {error}"
            return Ran(line=inside[-1] if inside else -1, why=why)
    return Ran(tensors=tuple(tensors_in(result)))


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value.detach()
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def same(left: Ran, right: Ran) -> bool:
    """Whether two runs gave the same tensors, up to rounding."""
    if left.shapes != right.shapes:
        return False
    return all(
        torch.allclose(a.to(b.dtype), b, equal_nan=True)
        for a, b in zip(left.tensors, right.tensors, strict=True)
    )


def malformed(name: str) -> Iterator[str]:
    """What is wrong with the label as a document."""
    said = label(name)
    mistakes = said.get("mistakes", [])
    if set(said) - LABEL_KEYS or said["kind"] not in ("error", "silent", "legal"):
        yield "keys or kind of the label"
    if bool(mistakes) != (said["kind"] != "legal"):
        yield "a legal program has no mistakes, every other has some"
    for mistake in mistakes:
        if set(mistake) - MISTAKE_KEYS or not mistake.get("edits"):
            yield "keys of a mistake"
        if (mistake["family"] in SILENT_FAMILIES) != (said["kind"] == "silent"):
            yield f"family {mistake['family']} for kind {said['kind']}"
        for edit in mistake["edits"] + mistake.get("also", []):
            if set(edit) != EDIT_KEYS:
                yield "keys of an edit"
    count = len(source(name).splitlines())
    if not 20 <= count <= 80:
        yield f"{count} lines"


def problems(name: str) -> list[str]:
    """Everything the label says that a run does not confirm."""
    found = list(malformed(name))
    said = label(name)
    meant = said["meant"]["outputs"]
    mistakes = said.get("mistakes", [])

    def ran(edits: list[dict[str, Any]]) -> Ran:
        return run(name, edited(name, edits))

    def expect_line(result: Ran, mistake: dict[str, Any], when: str) -> None:
        if result.line != mistake["fails"]:
            got = f"line {result.line} {result.why}" if result.why else "no error"
            found.append(f"{when}: meant line {mistake['fails']}, got {got}")

    def expect_meant(result: Ran, when: str) -> None:
        if result.line is not None:
            found.append(f"{when}: raised at line {result.line}, {result.why}")
        elif result.shapes != meant:
            found.append(f"{when}: meant {meant}, got {result.shapes}")

    if said["kind"] == "legal":
        expect_meant(ran([]), "as it is")
        return found

    as_it_is = ran([])
    everything = [edit for mistake in mistakes for edit in mistake["edits"]]
    if said["kind"] == "error":
        mended: list[dict[str, Any]] = []
        for number, mistake in enumerate(mistakes):
            before = as_it_is if not mended else ran(mended)
            expect_line(before, mistake, f"with {number} mended")
            mended = mended + mistake["edits"]
            rest = [e for m in mistakes if m is not mistake for e in m["edits"]]
            if len(mistakes) > 1:
                expect_line(ran(rest), mistake, f"all mended but {number + 1}")
    right = ran(everything)
    expect_meant(right, "all mended")
    for mistake in mistakes:
        rest = [e for m in mistakes if m is not mistake for e in m["edits"]]
        for choice in mistake.get("also", []):
            other = ran([*rest, choice])
            expect_meant(other, f"with {choice['new']!r}")
            if said["kind"] == "silent" and not same(other, right):
                found.append(f"with {choice['new']!r}: another result")
    if said["kind"] == "silent":
        if as_it_is.line is not None:
            found.append(f"as it is: raised at {as_it_is.line}, {as_it_is.why}")
        device = any(mistake["family"] == "device" for mistake in mistakes)
        if same(as_it_is, right) != device:
            found.append("the edits change the result of a device mistake only")
        if device:
            moved = run(name, source(name), "meta")
            expect_line(moved, mistakes[0], "moved to another device")
            expect_meant(
                run(name, edited(name, everything), "meta"), "mended and moved"
            )
    return found


def main(chosen: list[str]) -> int:
    torch.set_num_threads(1)
    kinds: Counter[str] = Counter()
    families: Counter[str] = Counter()
    bad = 0
    if orphans := {path.stem for path in LABELS.glob("*.toml")} ^ set(names()):
        print(f"without its other half: {sorted(orphans)}")
        bad += 1
    for name in chosen or names():
        found = problems(name)
        kinds[label(name)["kind"]] += 1
        families.update(m["family"] for m in label(name).get("mistakes", []))
        for problem in found:
            print(f"{name}: {problem}")
        bad += bool(found)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    print(", ".join(f"{family} {count}" for family, count in sorted(families.items())))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
