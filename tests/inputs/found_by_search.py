"""How many of the programs of `found/` get inputs by search that really run.

    python tests/inputs/found_by_search.py [NAME ...]

The search sees the model alone. What it finds is made into real tensors, as the spec
that it prints says, and the model is run on them on the CPU.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from inputs.found_programs import FOUND, label, names
from shapewright import api
from shapewright.inputs.spec import materialize_spec, parse_spec
from shapewright.inputs.spec_syntax import TensorSpec


def real(leaf: TensorSpec) -> torch.Tensor:
    """A tensor with data; whole numbers are 0 where the spec has no values."""
    from shapewright.inputs.spec import make_filled

    values = make_filled(leaf)
    if values is not None:
        return values
    dtype = getattr(torch, leaf.dtype)
    return (
        torch.randn(leaf.shape).to(dtype)
        if dtype.is_floating_point
        else torch.zeros(leaf.shape, dtype=dtype)
    )


def found(name: str) -> tuple[bool, str]:
    """Whether inputs were found that run for real, and which."""
    target = f"{FOUND / label(name)['target']}"
    trace = api.trace_target(target).trace
    said = next(
        (a.message for a in trace.assumptions if a.message.startswith("inputs:")), ""
    )
    spec = said.removeprefix("inputs: ").rpartition(" (found")[0]
    if not trace.complete or not spec:
        last = trace.findings[-1].message if trace.findings else "no inputs"
        return False, f"{spec}: {last}"
    space = {"__name__": f"found_{name}"}
    file = FOUND / f"{name}.py"
    torch.manual_seed(0)
    exec(compile(file.read_text("utf-8"), str(file), "exec"), space)
    model = space[label(name)["target"].split(":")[1]]()
    args, kwargs = materialize_spec(parse_spec(spec), real)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model(*args, **kwargs)
        except Exception as error:
            return False, f"{spec} really: {type(error).__name__}: {error}"
    return True, spec


if __name__ == "__main__":
    chosen = sys.argv[1:] or names()
    good = 0
    for each in chosen:
        fits, text = found(each)
        good += fits
        print("ok " if fits else "BAD", each, text[:200], flush=True)
    print(f"{good} of {len(chosen)} run")
