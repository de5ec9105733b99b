"""Every label of this corpus, checked by running its program for real on the CPU.

    python tests/solve/verify.py [NAME ...]

Each letter runs through its bounds with the others at the witness, then come joint
points, the same ones each time. What runs must be what `accepts` says, and what raises
must raise at the line of the first demand that does not hold.
"""

import functools
import itertools
import json
import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from solve.points import Sizes, accepted, along, described, inside, points, value

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
LABELS = HERE / "labels"

OUTPUT_POINTS = 50
KEYS = {
    *("target", "spec", "training", "bounds", "accepts", "constraints", "letters"),
    *("demands", "witness", "refused"),
}
OPTIONAL_KEYS = {"outputs", "want"}
DEMAND_KEYS = {"constraint", "line", "why"}
DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool}


@dataclass(frozen=True)
class Ran:
    """What one run gave: the shapes of its tensors, or where and why it raised."""

    shapes: tuple[tuple[int, ...], ...] = ()
    line: int | None = None
    why: str = ""


def names() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


@functools.cache
def label(name: str) -> dict[str, Any]:
    text = (LABELS / f"{name}.json").read_text(encoding="utf-8")
    said: dict[str, Any] = json.loads(text)
    return said


@functools.cache
def model(name: str) -> nn.Module:
    """The model of a program, built as its label says."""
    file = PROGRAMS / f"{name}.py"
    space: dict[str, Any] = {"__name__": f"program_{name}", "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), space)
    target = label(name)["target"].split(":")[1]
    torch.manual_seed(0)
    found = eval(target, space)
    built: nn.Module = found() if isinstance(found, type) else found
    return built.train(label(name)["training"])


def tensor(dtype: str, *shape: int) -> torch.Tensor:
    """Numbers for floats; ids and flags are 0 or 1, which every table has."""
    if dtype == "f32":
        return torch.randn(shape)
    return torch.randint(0, 2, shape).to(DTYPES[dtype])


def arguments(spec: str, sizes: Sizes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the spec asks for at these sizes."""
    call = re.sub(r"(\w+)\[([^]]*)\]", r'tensor("\1", \2)', spec)
    space = {"tensor": tensor, "given": lambda *args, **kwargs: (args, kwargs)}
    result: tuple[tuple[Any, ...], dict[str, Any]]
    result = eval(f"given({call})", space, dict(sizes))
    return result


def run(name: str, sizes: Sizes) -> Ran:
    """Runs the model at these sizes."""
    torch.manual_seed(0)
    args, kwargs = arguments(label(name)["spec"], sizes)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            result = model(name)(*args, **kwargs)
        except Exception as error:
            file = str(PROGRAMS / f"{name}.py")
            frames = traceback.extract_tb(error.__traceback__)
            inside = [frame.lineno for frame in frames if frame.filename == file]
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            return Ran(line=inside[-1] if inside else -1, why=why)
    return Ran(shapes=tuple(tuple(leaf.shape) for leaf in leaves(result)))


def leaves(nest: object) -> Iterator[torch.Tensor]:
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, dict):
        yield from leaves(list(nest.values()))
    elif isinstance(nest, list | tuple):
        for item in nest:
            yield from leaves(item)


def malformed(name: str) -> Iterator[str]:
    """What is wrong with the label as a document; nothing runs."""
    said = label(name)
    if KEYS - set(said) or set(said) - KEYS - OPTIONAL_KEYS:
        yield "keys of the label"
        return
    if said["target"].split(":")[0] != f"{name}.py":
        yield "target is another file"
    letters = set(said["bounds"])
    if not set(said["letters"]) == set(said["witness"]) == letters:
        yield "letters, witness and bounds have other letters"
    lines = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    for demand in said["demands"]:
        if set(demand) != DEMAND_KEYS or not 0 < demand["line"] <= len(lines):
            yield "keys or line of a demand"
    if not accepted(said, said["witness"]):
        yield "the witness is not accepted"
    refused = said["refused"]
    if (refused is None) != (not said["demands"]):
        yield "a refused example goes with demands"
    if refused is not None and accepted(said, refused):
        yield "the refused example is accepted"
    for letter in letters:
        sizes = [p[letter] for p in along(said, letter) if accepted(said, p)]
        if described(said, letter) != sizes:
            yield f"letters: {letter} is {sizes}"
    yield from disagreeing(said)
    if "want" in said:
        yield from unwanted(said)


def disagreeing(said: dict[str, Any]) -> Iterator[str]:
    """Where constraints or demands together are not what is accepted."""
    for sizes in points(said):
        expected = accepted(said, sizes)
        if all(value(text, sizes) for text in said["constraints"]) != expected:
            yield f"constraints at {sizes}"
        if (first_demand(said, sizes) is None) != expected:
            yield f"demands at {sizes}"


def first_demand(said: dict[str, Any], sizes: Sizes) -> dict[str, Any] | None:
    """The first demand that does not hold; demands stand in the order of the run."""
    for demand in said["demands"]:
        if not value(demand["constraint"], sizes):
            return dict(demand)
    return None


def unwanted(said: dict[str, Any]) -> Iterator[str]:
    """Where the sizes said to give the wanted output are not all that do."""
    shape = said["want"]["shape"]
    spans = [range(low, high + 1) for low, high in said["bounds"].values()]
    for point in itertools.product(*spans):
        sizes = dict(zip(said["bounds"], point, strict=True))
        if not accepted(said, sizes):
            continue
        gives = all(
            value(ours, sizes) == value(str(theirs), sizes)
            for ours, theirs in zip(said["outputs"], shape, strict=True)
        )
        if gives != bool(value(said["want"]["accepts"], sizes)):
            yield f"want at {sizes}"
            return


def shapes(said: dict[str, Any], sizes: Sizes) -> tuple[tuple[int, ...], ...]:
    """The outputs as the label gives them: one shape, or a list of shapes."""
    told = said["outputs"]
    several = told if told and isinstance(told[0], list) else [told]
    return tuple(tuple(value(dim, sizes) for dim in shape) for shape in several)


def problems(name: str) -> list[str]:
    """Everything the label says that a run does not confirm."""
    found = list(malformed(name))
    if found:
        return found
    said = label(name)
    for sizes in points(said):
        ran = run(name, sizes)
        demand = first_demand(said, sizes)
        meant = demand["line"] if demand else None
        if ran.line != meant:
            found.append(f"{sizes}: meant {meant}, raised at {ran.line} {ran.why}")
    found += wrong_outputs(name)
    return found


def wrong_outputs(name: str) -> Iterator[str]:
    """Where the outputs of real runs have other shapes than the label says."""
    said = label(name)
    if "outputs" not in said:
        return
    sample = inside(said, OUTPUT_POINTS, random.Random(1))
    for sizes in [said["witness"], *sample]:
        ran, meant = run(name, sizes), shapes(said, sizes)
        if ran.shapes != meant:
            yield f"{sizes}: outputs {ran.shapes}, meant {meant}"


def main(chosen: list[str]) -> int:
    torch.set_num_threads(1)
    bad = 0
    if orphans := {path.stem for path in LABELS.glob("*.json")} ^ set(names()):
        print(f"without its other half: {sorted(orphans)}")
        bad += 1
    checked = chosen or names()
    for name in checked:
        found = problems(name)
        for problem in found[:8]:
            print(f"{name}: {problem}")
        bad += bool(found)
    print(f"{len(checked)} programs, {bad} with problems")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
