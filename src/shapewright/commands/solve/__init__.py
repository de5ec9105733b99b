"""The commands `solve` and `trace` with formulas, for a command-line target or a live
model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.commands.solve.runs import Feeding, from_arguments, from_spec
from shapewright.record.solution import Solution

if TYPE_CHECKING:
    from shapewright.commands.solve.size_search import Wanted
    from shapewright.inputs.callables import Loaded
    from shapewright.inputs.spec import Spec
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.run_record import RunRequest, RunResult

__all__ = [
    "Feeding", "from_arguments", "from_spec", "run_lettered", "solve_command",
    "solve_model", "trace_call",
]  # fmt: skip


def solve_command(
    target: str,
    spec: str | None,
    want: str | None,
    timeout: float | None,
    training: bool | None = None,
    prove: float | None = None,
    arguments: Sequence[str] = (),
    files: ProgramFiles | None = None,
) -> Solution:
    """Return the solution that `shapewright solve` reports."""
    from shapewright.commands.solve.solution import find_solution
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.engine.replacement import limit_to_one_thread
    from shapewright.inputs.callables import set_mode
    from shapewright.inputs.errors import InputError, ProgramError
    from shapewright.inputs.python_files import read_source
    from shapewright.inputs.spec import parse_spec
    from shapewright.inputs.target import parse_target
    from shapewright.inputs.target_objects import load_target
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.limits import limit_time, redirect_to_stderr
    from shapewright.runtime.model_building import build_without_data
    from shapewright.runtime.restore.process_state import guard_surroundings

    parsed = parse_target(target, arguments)
    input_spec = parse_spec(spec) if spec is not None else None
    wanted = _parse_wanted_shapes(want)
    if parsed.kind == "script":
        raise InputError(
            f"a script has no inputs to solve for: name one, `{target}:Net`"
        )
    if parsed.kind == "file":
        read_source(parsed.place)
    try:
        kept = (files or ProgramFiles()).kept()
        with (
            redirect_to_stderr(),
            limit_time(timeout, hard=True),
            limit_to_one_thread(),
            guard_surroundings(),
            kept,
        ):
            seen = Constructions()
            with seen.watched():
                loaded = load_target(parsed, build_without_data(put_back=False))
            with loaded.program.running():
                feeding = _find_feeding(loaded, input_spec)
                set_mode(loaded, training)
                return find_solution(
                    loaded.callable, feeding, target, wanted, want or "", prove,
                    lambda modules: seen.places(dict(modules), os.getcwd())[0],
                )  # fmt: skip
    except (Stopped, ProgramError) as stopped:
        return Solution(
            target, spec or "", (), (), None, None, 0, False, stopped=str(stopped)
        )


def solve_model(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    want: str | None,
    prove: float | None = None,
) -> Solution:
    """Return the sizes that a live model accepts."""
    feeding = from_arguments(args, kwargs)
    feeding = feeding if feeding.free else feeding.freed()
    name = getattr(target, "__name__", type(target).__name__)
    from shapewright.commands.solve.solution import find_solution

    return find_solution(
        target, feeding, name, _parse_wanted_shapes(want), want or "", prove
    )


def run_lettered(loaded: Loaded, spec: Spec, request: RunRequest) -> RunResult:
    """Run a target on a spec; compute formulas if the spec has letters without a
    size.
    """
    from shapewright.commands.trace import run_once

    if not spec.letters_free:
        return run_once(loaded, spec, request)
    return _compute_formulas(loaded.callable, from_spec(spec), request)


def trace_call(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    request: RunRequest,
    freed: bool = False,
) -> RunResult:
    """Trace a model on the arguments of a call, which may include specs.

    With `freed`, letters that have a size are varied as well.
    """
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.runtime.run import record_run

    feeding = from_arguments(args, kwargs)
    if freed:
        feeding = feeding.freed()
    if feeding.free:
        return _compute_formulas(target, feeding, request)
    fed_args, fed_kwargs = feeding.arguments({})
    request = replace(request, letters=dict(feeding.letters))
    result = record_run(target, fed_args, fed_kwargs, request)
    if not result.trace.complete:
        refuse_sizes("formulas" if freed else "trace", target, fed_args, fed_kwargs)
    return result


def _compute_formulas(
    target: Callable[..., Any], feeding: Feeding, request: RunRequest
) -> RunResult:
    """Return the trace at usual sizes, with a formula for every size."""
    from shapewright.commands.solve.formulas import with_formulas
    from shapewright.commands.solve.runs import Runner
    from shapewright.runtime.run_record import RunResult

    runner = Runner(target, feeding, request)
    trace = with_formulas(runner)
    return RunResult(trace, stepped=runner.stepped)


def _find_feeding(loaded: Loaded, spec: Spec | None) -> Feeding:
    """Return the target's inputs: those of the spec, or else declared inputs or inputs
    found by search.
    """
    from shapewright.commands.trace import find_inputs
    from shapewright.inputs.bare_sizes import find_meant_tensor
    from shapewright.inputs.callables import bind_inputs
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import Spec, parse_spec

    if spec is None:
        inputs = find_inputs(loaded)
        if inputs is None or not isinstance(inputs.inputs, Spec):
            raise InputError(
                f"`{loaded.said}` needs a spec with letters: what may vary, as in"
                ' -i "f32[B, 3, H, W]"'
            )
        spec = inputs.inputs
        if not spec.letters:
            spec = parse_spec(_with_letters(str(spec)))
    elif (tensor := find_meant_tensor(loaded, spec)) is not None:
        spec = parse_spec(_with_letters(str(tensor)))
    bind_inputs(loaded, spec)
    feeding = from_spec(spec)
    return feeding if feeding.free else feeding.freed()


TENSOR = re.compile(r"\b(f16|f32|f64|bf16|i64|i32|bool)\[([^\[\]]*)\]")
"""A tensor of a spec whose sizes are written as numbers."""


def _with_letters(text: str) -> str:
    """Add letters to a spec for sizes that likely vary: a batch, the sides of an image.

    >>> with_letters("f32[1, 3, 224, 224]")
    'f32[B=1, 3, H=224, W=224]'
    """

    def lettered(match: re.Match[str]) -> str:
        dtype, sizes = match[1], [size.strip() for size in match[2].split(",")]
        names = ["B"]
        if len(sizes) == 4 and dtype.startswith(("f", "b")):
            names = ["B", "", "H", "W"]
        elif len(sizes) == 2 and dtype.startswith("i"):
            names = ["B", "T"]
        for at, name in enumerate(names):
            if name and at < len(sizes) and sizes[at].isdecimal():
                stated = seen.setdefault(name, sizes[at])
                if stated == sizes[at]:
                    sizes[at] = f"{name}={sizes[at]}"
        return f"{dtype}[{', '.join(sizes)}]"

    seen: dict[str, str] = {}
    return TENSOR.sub(lettered, text)


def _parse_wanted_shapes(want: str | None) -> list[Wanted]:
    """Return the shapes that a text requests: ``[B, 10, 64, 64]``, ``f32[B, 10]``."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import parse_spec

    if not want:
        return []
    text = want.strip()
    spec = parse_spec(f"f32{text}" if text.startswith("[") else text)
    shapes: list[Wanted] = []
    for leaf in spec.leaves:
        shapes.append(
            [
                size if letter is None else letter
                for size, letter in zip(leaf.shape, leaf.letters, strict=True)
            ]
        )
    if not shapes:
        raise InputError("--want takes the shape of an output, as in [B, 10, 64, 64]")
    return shapes
