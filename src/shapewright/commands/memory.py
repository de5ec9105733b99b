"""`memory`: what a step of a target takes, on which device, and whether it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.commands.memory_changes import measure_with_changes
from shapewright.commands.memory_devices import MemoryDevice, find_memory_device
from shapewright.commands.memory_step import MeasuredStep, MemoryOptions
from shapewright.commands.solve import Feeding, from_arguments, from_spec
from shapewright.record.memory import Memory, MemoryEvents, Peak

if TYPE_CHECKING:
    from shapewright.findings.finding import Finding
    from shapewright.inputs.callables import Loaded
    from shapewright.inputs.spec import Spec
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.memory.steps import StepRequest

__all__ = ["MemoryOptions", "list_texts", "measure_command", "measure_model"]


def list_texts(what_if: bool | str | Sequence[str]) -> tuple[str, ...] | None:
    """Return the changes that are asked for; none for true, None for false."""
    if isinstance(what_if, bool):
        return () if what_if else None
    return (what_if,) if isinstance(what_if, str) else tuple(what_if)


def measure_command(
    target: str,
    spec: str | None,
    options: MemoryOptions,
    timeout: float | None = None,
    arguments: Sequence[str] = (),
    files: ProgramFiles | None = None,
) -> Memory:
    """Return the memory that `shapewright memory` reports."""
    from shapewright.commands.trace import build_failed_trace
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.engine.replacement import limit_to_one_thread
    from shapewright.findings.codes import TIMEOUT
    from shapewright.findings.finding import Finding
    from shapewright.inputs.errors import InputError, ProgramError
    from shapewright.inputs.python_files import read_source
    from shapewright.inputs.spec import parse_spec
    from shapewright.inputs.target import parse_target
    from shapewright.inputs.target_objects import load_target
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.limits import limit_time, redirect_to_stderr
    from shapewright.runtime.model_building import build_without_data
    from shapewright.runtime.restore.process_state import guard_surroundings

    _refuse_options(options)
    parsed = parse_target(target, arguments)
    input_spec = parse_spec(spec) if spec is not None else None
    device = find_memory_device(options.device)
    request = _build_request(options, device)
    if parsed.kind in ("script", "folder"):
        raise InputError(
            f"`memory` takes a model with its inputs: name one, `{target}:Net`"
            if parsed.kind == "script"
            else f"`memory` takes one model, not a folder: `{target}/model.py:Net`"
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
            supposed: list[str] = []
            loaded = load_target(
                parsed, build_without_data(put_back=False, supposed=supposed)
            )
            with loaded.program.running():
                feeding, notes = _find_feeding(loaded, input_spec)
                request = _choose_mode(request, loaded.module, options.training)
                step = MeasuredStep(
                    loaded.callable, feeding, request, device, target, options
                )
                return measure_with_changes(step, (*dict.fromkeys(supposed), *notes))
    except ProgramError as error:
        finding = build_failed_trace(target, error).findings[0]
    except Stopped as stopped:
        finding = Finding(TIMEOUT, "error", str(stopped))
    return _build_stopped(target, spec or "", options, finding)


def measure_model(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: MemoryOptions,
) -> Memory:
    """Return the memory of a step of a live model, which is not touched."""
    _refuse_options(options)
    device = find_memory_device(options.device)
    request = _build_request(options, device)
    module = target if hasattr(target, "named_modules") else None
    request = _choose_mode(request, module, options.training)
    name = getattr(target, "__name__", type(target).__name__)
    step = MeasuredStep(
        target, from_arguments(args, kwargs), request, device, name, options
    )
    return measure_with_changes(step, ())


def _refuse_options(options: MemoryOptions) -> None:
    """Raise `InputError` for options of which one leaves the other no meaning."""
    from shapewright.inputs.errors import InputError

    if options.generate < 0:
        raise InputError(f"{options.generate} tokens cannot be generated")
    if options.generate and options.what_if is not None:
        raise InputError("changes are tried on a step, not on a generation")


def _build_request(options: MemoryOptions, device: MemoryDevice) -> StepRequest:
    """Return the request for steps; raise `InputError` for an unknown optimizer."""
    from shapewright.inputs.errors import InputError
    from shapewright.runtime.memory.optimizers import UnknownOptimizer, read_optimizer
    from shapewright.runtime.memory.steps import StepRequest, find_dtype

    try:
        kind, settings = read_optimizer(options.optimizer)
    except UnknownOptimizer as error:
        raise InputError(str(error)) from None
    dtype = None
    if options.autocast is not None:
        dtype = find_dtype(options.autocast)
        if dtype is None:
            raise InputError(
                f"autocast is in bf16 or fp16, not in `{options.autocast}`"
            )
    return StepRequest(
        kind, settings, loss=options.loss, capability=device.capability,
        is_metal=device.is_metal, autocast=dtype, tokens=options.generate,
        processors=device.processors,
    )  # fmt: skip


def _choose_mode(
    request: StepRequest, module: Any, training: bool | None
) -> StepRequest:
    """Return the request with the stated mode, or else that of the model."""
    if request.tokens:
        training = False
    elif training is None:
        training = True if module is None else bool(module.training)
    return replace(request, training=training)


def _find_feeding(loaded: Loaded, spec: Spec | None) -> tuple[Feeding, tuple[str, ...]]:
    """Return the inputs of a target, and notes on inputs that nobody gave."""
    from shapewright.commands.trace import find_inputs
    from shapewright.inputs.bare_sizes import READING, find_meant_tensor
    from shapewright.inputs.callables import bind_inputs
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec import Spec, make_tensor

    if spec is not None:
        tensor = find_meant_tensor(loaded, spec)
        notes = () if tensor is None else (f"inputs: {tensor} ({READING})",)
        spec = spec if tensor is None else tensor
        bind_inputs(loaded, spec)
        return from_spec(spec), notes
    candidate = find_inputs(loaded)
    if candidate is None:
        raise InputError(f"no inputs are known for `{loaded.said}`; give some with -i")
    if isinstance(candidate.inputs, Spec):
        notes = (f"inputs: {candidate.inputs} ({candidate.reason})",)
        return from_spec(candidate.inputs), notes
    args, kwargs = candidate.arguments(make_tensor)
    return Feeding(args, kwargs, (), {}, ()), (f"inputs: {candidate.reason}",)


def _build_stopped(
    target: str, spec: str, options: MemoryOptions, finding: Finding
) -> Memory:
    """Return the record of a target that ended before its first step."""
    events = MemoryEvents((), (), 0, (), finding)
    peak = Peak(0, "", {}, ())
    device = find_memory_device(options.device).name
    training = options.training is not False
    return Memory(target, spec, device, "", training, events, peak)
