"""The programs of `found/` and inputs that they run with for real on the CPU.

    python tests/inputs/found_programs.py [NAME ...]

Each is a model as a research repository has it, built without arguments. The JSON
beside it has a spec that works, and the shapes of the tensors that come out, leaf by
leaf. Nothing here reads Shapewright, so that a search can be measured against it.
"""

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

FOUND = Path(__file__).resolve().parent / "found"
TENSOR = re.compile(r"(f32|i64|bool)\[([^]]*)\](?:=(\[[^]]*\]))?")


def names() -> list[str]:
    return sorted(path.stem for path in FOUND.glob("*.py"))


def label(name: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((FOUND / f"{name}.json").read_text("utf-8"))
    return said


def tensor(dtype: str, shape: list[int], values: object = None) -> torch.Tensor:
    """Numbers for floats and 0 or 1 for ids, unless the spec has the values."""
    if values is not None:
        return torch.tensor(values).reshape(shape)
    if dtype == "f32":
        return torch.randn(shape)
    made = torch.randint(0, 2, shape)
    return made.bool() if dtype == "bool" else made


def arguments(spec: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a spec means."""
    call = re.sub(r"(\w+): ", r'"\1": ', TENSOR.sub(r'tensor("\1", [\2], \3)', spec))
    space = {"tensor": tensor, "given": lambda *args, **kwargs: (args, kwargs)}
    given: tuple[tuple[Any, ...], dict[str, Any]] = eval(f"given({call})", space)
    return given


def leaves(nest: object) -> Iterator[torch.Tensor]:
    if isinstance(nest, torch.Tensor):
        yield nest
    elif isinstance(nest, dict):
        yield from leaves(list(nest.values()))
    elif isinstance(nest, list | tuple):
        for item in nest:
            yield from leaves(item)


def outputs(name: str) -> list[list[int]]:
    """The shapes that come out of the model with the inputs of its label."""
    file = FOUND / f"{name}.py"
    space: dict[str, Any] = {"__name__": f"found_{name}", "__file__": str(file)}
    torch.manual_seed(0)
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), space)
    model = space[label(name)["target"].split(":")[1]]()
    args, kwargs = arguments(label(name)["spec"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [list(leaf.shape) for leaf in leaves(model(*args, **kwargs))]


def main(chosen: list[str]) -> int:
    bad = 0
    for name in chosen or names():
        given, meant = outputs(name), label(name)["outputs"]
        if given != meant:
            print(f"{name}: {given}, meant {meant}")
            bad += 1
    print(f"{len(chosen or names())} programs, {bad} with problems")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
