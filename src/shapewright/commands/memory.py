"""`memory`: what a step of a target takes, on which device, and whether it fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.analysis.memory.advice import find_advice
from shapewright.analysis.memory.caching_allocator import SMALLEST, replay_allocator
from shapewright.analysis.memory.device_memory import CONTEXT, find_workspace
from shapewright.analysis.memory.largest_batch import (
    estimate_events,
    find_largest_batch,
)
from shapewright.analysis.memory.peaks import draw_timeline, find_peak
from shapewright.commands.memory_devices import MemoryDevice, find_memory_device
from shapewright.commands.solve import Feeding, from_arguments, from_spec
from shapewright.record.memory import (
    LargestBatch,
    Memory,
    MemoryEvents,
    Peak,
    TotalBytes,
)

if TYPE_CHECKING:
    from shapewright.findings.finding import Finding
    from shapewright.inputs.callables import Loaded
    from shapewright.inputs.spec import Spec
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.memory.steps import StepRequest


Arguments = tuple[tuple[Any, ...], dict[str, Any]]

DEFAULT_OPTIMIZER = "adamw"


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What is asked of the step.

    `device` is named as in `rehearse --device`. `training` is None for the mode that
    the model is in; in evaluation only forward runs. `loss` computes a loss of the
    output.
    """

    optimizer: str = DEFAULT_OPTIMIZER
    device: str = "cpu"
    training: bool | None = None
    largest_batch: bool = False
    loss: Callable[[Any], Any] | None = None


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
                step = _Step(loaded.callable, feeding, request, device, target, options)
                return step.measure((*dict.fromkeys(supposed), *notes))
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
    device = find_memory_device(options.device)
    request = _build_request(options, device)
    module = target if hasattr(target, "named_modules") else None
    request = _choose_mode(request, module, options.training)
    name = getattr(target, "__name__", type(target).__name__)
    step = _Step(target, from_arguments(args, kwargs), request, device, name, options)
    return step.measure(())


def _build_request(options: MemoryOptions, device: MemoryDevice) -> StepRequest:
    """Return the request for steps; raise `InputError` for an unknown optimizer."""
    from shapewright.inputs.errors import InputError
    from shapewright.runtime.memory.optimizers import UnknownOptimizer, read_optimizer
    from shapewright.runtime.memory.steps import StepRequest

    try:
        kind, settings = read_optimizer(options.optimizer)
    except UnknownOptimizer as error:
        raise InputError(str(error)) from None
    return StepRequest(kind, settings, loss=options.loss, capability=device.capability)


def _choose_mode(
    request: StepRequest, module: Any, training: bool | None
) -> StepRequest:
    """Return the request with the stated mode, or else that of the model."""
    if training is None:
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


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a target, which can run at several sizes of its inputs."""

    target: Callable[..., Any]
    feeding: Feeding
    request: StepRequest
    device: MemoryDevice
    name: str
    options: MemoryOptions

    def measure(self, notes: tuple[str, ...]) -> Memory:
        """Return the memory at the stated sizes, and the largest batch if asked."""
        letter = self._find_batch() if self.options.largest_batch else ""
        memory = self._run({}, notes)
        if not letter or not memory.complete:
            return memory
        return replace(memory, largest_batch=self._find_largest(letter, memory))

    def _find_batch(self) -> str:
        """Return the letter of the batch; raise `InputError` if there is none."""
        from shapewright.inputs.errors import InputError

        if self.device.capacity is None:
            raise InputError(
                "a largest batch needs a device with a known memory: "
                '--device "H100 80GB"'
            )
        letter = self._get_leading_letter()
        if not letter:
            raise InputError(
                "a largest batch needs a letter to vary: write the batch as one, as in"
                ' "f32[B=8, 3, 224, 224]"'
            )
        return letter

    def _get_leading_letter(self) -> str:
        """Return the letter `B` or `N`, or else that of the first dim of an input."""
        letters = self.feeding.letters
        for name in ("B", "N"):
            if name in letters:
                return name
        for _, spec in self.feeding.specs:
            for leaf in spec.leaves:
                if leaf.letters and leaf.letters[0] in letters:
                    return str(leaf.letters[0])
        return ""

    def _find_largest(self, letter: str, first: Memory) -> LargestBatch:
        """Return the largest batch that surely fits."""
        assert self.device.capacity is not None
        start = self.feeding.letters[letter]
        known = {start: first}

        def measure(size: int) -> int:
            memory = known.get(size) or self._run({letter: size}, ())
            known[size] = memory
            if memory.total is None or not memory.complete:
                from shapewright.inputs.errors import InputError

                error = memory.events.error
                reason = error.message if error is not None else "nothing was recorded"
                raise InputError(f"the step does not run at {letter}={size}: {reason}")
            return memory.total.high

        def predict(size: int) -> int | None:
            nearest = sorted(known, key=lambda n: abs(n - size))[:2]
            runs = [(n, known[n].events.events) for n in nearest]
            events = estimate_events(runs, size)
            if events is None or first.total is None:
                return None
            return replace(first.total, reserved=replay_allocator(events).reserved).high

        search = find_largest_batch(
            measure, max(start, 1), self.device.capacity[0], predict=predict
        )
        tried = {size: known[size].reserved or 0 for size in sorted(search.tried)}
        return LargestBatch(letter, search.size, tried, search.is_exact)

    def _run(self, sizes: Mapping[str, int], notes: tuple[str, ...]) -> Memory:
        """Return the memory at these sizes of the letters."""
        from shapewright.runtime.memory.steps import record_steps

        args, kwargs = self.feeding.arguments(sizes)
        events = record_steps(self.target, args, kwargs, self.request)
        return self._fold(events, sizes, notes)

    def _fold(
        self,
        events: MemoryEvents,
        sizes: Mapping[str, int],
        notes: tuple[str, ...],
    ) -> Memory:
        """Return everything that follows from the events."""
        device = self.device
        granularity = 1 if device.capability is None else SMALLEST
        peak = find_peak(events, granularity)
        training = self.request.training
        optimizer = self.request.optimizer
        name = optimizer.__name__ if optimizer is not None and training else ""
        reserved = total = None
        if device.capability is not None:
            reserved = replay_allocator(events.events).reserved
            total = TotalBytes(reserved, find_workspace(device.capability), CONTEXT)
        return Memory(
            self.name,
            self.feeding.text,
            device.name,
            name,
            training,
            events,
            peak,
            draw_timeline(events, granularity),
            reserved,
            total,
            device.capacity,
            advice=find_advice(peak, training, name, self._get_leading_letter()),
            notes=(*notes, *events.notes, *self._list_unknown(events)),
            sizes={**self.feeding.letters, **sizes},
        )

    def _list_unknown(self, events: MemoryEvents) -> tuple[str, ...]:
        """Return notes on what a GPU's libraries allocate and nobody publishes."""
        is_gpu = self.device.capability is not None
        if is_gpu and any(s.op.startswith("convolution") for s in events.storages):
            return ("the workspaces of cuDNN's convolutions are not in these numbers",)
        return ()


def _build_stopped(
    target: str, spec: str, options: MemoryOptions, finding: Finding
) -> Memory:
    """Return the record of a target that ended before its first step."""
    events = MemoryEvents((), (), 0, (), finding)
    peak = Peak(0, "", {}, ())
    device = find_memory_device(options.device).name
    training = options.training is not False
    return Memory(target, spec, device, "", training, events, peak)
