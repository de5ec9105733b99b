"""Run steps of a target without data, and record what they allocate.

Two steps run, with the same inputs: the second finds the state of the optimizer. Each
is the body of a loop as a function: `zero_grad()`, forward, a loss, backward, and
`optimizer.step()`. The output and the loss of a step are freed at its end.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_iter, tree_map

from shapewright.analysis.memory.device_memory import Processors
from shapewright.engine.autocast_kernels import use_autocast
from shapewright.engine.call_sites import Positions
from shapewright.engine.device_kernels import KernelChoice, use_device_kernels
from shapewright.engine.failures.run_ends import Stopped, make_failure
from shapewright.engine.mode import Mode
from shapewright.engine.private import UninitializedTensor
from shapewright.engine.replacement import replace_attribute
from shapewright.findings.finding import Finding
from shapewright.program.spans import is_installed
from shapewright.record.memory import (
    ACTIVATIONS,
    BACKWARD,
    BUFFERS,
    FORWARD,
    GRADIENTS,
    INPUTS,
    OPTIMIZER,
    PARAMETERS,
    SETUP,
    STEP,
    MemoryEvents,
    StorageOrigin,
)
from shapewright.runtime.limits import delay_signals
from shapewright.runtime.memory.checkpoints import UnknownModule, use_checkpoints
from shapewright.runtime.memory.generation import NoCache, run_generation
from shapewright.runtime.memory.optimizers import UnknownOptimizer, build_optimizer
from shapewright.runtime.memory.storage_events import (
    StorageEvents,
    UnreadableValue,
    copy_without_data,
)
from shapewright.runtime.restore.snapshot import restore_snapshot, take_snapshot

STEPS = 2

MOST_PARTS = 3
"""Parts of a batch that run; from the second on, all allocate the same."""

_DTYPES = {
    "bf16": torch.bfloat16,
    "bfloat16": torch.bfloat16,
    "fp16": torch.float16,
    "float16": torch.float16,
}


def find_dtype(name: str) -> torch.dtype | None:
    """Return the dtype of autocast with this name, None for another."""
    return _DTYPES.get(name.removeprefix("torch."))


@dataclass(frozen=True, slots=True)
class StepRequest:
    """How to run a step, and on what.

    `optimizer` is a class of torch, None for none, with its `options`. Without
    `training`, only forward runs, under `no_grad`. `loss` computes a loss from the
    output; the usual one is the sum of the means of all outputs. `capability` is the
    compute capability of a GPU, None for the CPU and for that of a Mac, `is_metal`.
    `autocast` is a dtype for forward and
    the loss, None for none around them. A batch comes in `parts`, whose gradients add
    up. Modules of the classes `checkpointed` compute again in backward. The optimizer
    is on the host for parameters of `offloaded_from` elements and more. With `tokens`,
    so many are generated after the inputs, instead of steps. `processors` are those of
    a GPU, whose kernels take memory for themselves.
    """

    optimizer: type | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    training: bool = True
    loss: Callable[[Any], torch.Tensor] | None = None
    capability: tuple[int, int] | None = None
    autocast: torch.dtype | None = None
    parts: int = 1
    checkpointed: tuple[str, ...] = ()
    offloaded_from: int | None = None
    tokens: int = 0
    is_metal: bool = False
    processors: Processors | None = None

    @property
    def kind(self) -> str:
        """Return the kind of the device, as torch calls it."""
        if self.is_metal:
            return "mps"
        return "cpu" if self.capability is None else "cuda"

    def around_forward(self) -> AbstractContextManager[Any]:
        """Return the context in which forward and the loss run."""
        if self.autocast is None:
            return nullcontext()
        return torch.autocast(self.kind, dtype=self.autocast)


def record_steps(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    request: StepRequest,
) -> MemoryEvents:
    """Run steps of a target, and return everything that they allocated and freed.

    Models, inputs and the process are afterwards as they were. What the program raises
    is the record's `error`; `NoCache` is raised where it can generate no tokens.
    """
    target = getattr(target, "_orig_mod", target)  # torch.compile's wrapper
    folder = os.getcwd()
    taken = take_snapshot(target, args, kwargs)
    is_gpu = request.kind != "cpu"
    events = StorageEvents(taken.near, not is_gpu, request.processors)
    for function in (_call_target, record_steps):
        events.sites.bound(function.__code__)
    notes: dict[str, None] = dict.fromkeys(
        list_unseen(taken.near, request.processors is not None)
    )
    error: BaseException | None = None
    life, held = object(), list[object]()
    with delay_signals() as heard, ExitStack() as stack:
        stack.enter_context(restore_snapshot(taken, args, kwargs, life))
        held.append(life)  # the surroundings are looked at after the run
        choice = KernelChoice(request.capability, request.is_metal)
        stack.enter_context(use_device_kernels(choice))
        stack.enter_context(_follow_autocast(request.kind, notes))
        stack.enter_context(_suspend_collector())
        copies = _Copies()
        try:
            with heard():
                stack.enter_context(copies.replace_states(taken.near))
                if taken.root is not None:
                    taken.root.train(request.training)
                stack.enter_context(use_checkpoints(taken.near, request.checkpointed))
                fed = tree_map(copies.copy_input, (args, kwargs))
                _build_lazy_parameters(target, fed, copies, taken.near)
                _run_steps(partial(_call_target, target), fed, copies, events, request)
        except (KeyboardInterrupt, Stopped):
            raise
        except BaseException as caught:  # whatever ends the program
            error = caught
        events.copies.clear()
    if isinstance(error, NoCache):
        raise error
    finding = _explain_error(error, folder) if error is not None else None
    return _finish_record(events, folder, notes, finding, request.parts)


class _Copies:
    """Data-free copies of a model's tensors and of the inputs, by identity."""

    def __init__(self) -> None:
        self.by_id: dict[int, torch.Tensor] = {}
        self.originals: list[torch.Tensor] = []
        self.parameters: list[nn.Parameter] = []
        self.buffers: list[torch.Tensor] = []
        self.inputs: list[torch.Tensor] = []

    def _copy(self, tensor: torch.Tensor, is_input: bool = False) -> torch.Tensor:
        known = self.by_id.get(id(tensor))
        if known is not None:
            return known
        is_data = isinstance(tensor, nn.Parameter) or is_input
        copy = copy_without_data(tensor, not (is_data and tensor.is_floating_point()))
        self.originals.append(tensor)
        if isinstance(tensor, nn.Parameter):
            copy = nn.Parameter(copy, requires_grad=tensor.requires_grad)
            self.parameters.append(copy)
        self.by_id[id(tensor)] = copy
        return copy

    def copy_input(self, value: Any) -> Any:
        """Return the data-free copy of an input; other values are as they are."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return value
        copy = self._copy(value, is_input=True)
        if value.requires_grad and value.is_leaf:
            copy.requires_grad_()
        self.inputs.append(copy)
        return copy

    @contextmanager
    def replace_states(self, modules: list[tuple[str, nn.Module]]) -> Iterator[None]:
        """Replace parameters and buffers by data-free copies within the block.

        The modules' own dictionaries are put back by the snapshot of the model.
        """
        for _, module in modules:
            for name, tensor in module._parameters.items():
                if tensor is not None and not isinstance(tensor, UninitializedTensor):
                    module._parameters[name] = self._copy(tensor)  # type: ignore[assignment]
            for name, buffer in module._buffers.items():
                if buffer is not None and not isinstance(buffer, UninitializedTensor):
                    module._buffers[name] = self._copy(buffer)
                    self.buffers.append(module._buffers[name])  # type: ignore[arg-type]
            if isinstance(module, nn.RNNBase):  # it holds its weights twice
                module._flat_weights = [
                    getattr(module, name, None) for name in module._flat_weights_names
                ]
        yield


def _run_steps(
    call: Callable[..., Any],
    fed: Any,
    copies: _Copies,
    events: StorageEvents,
    request: StepRequest,
) -> None:
    """Run the steps, under the recording mode."""
    for parameter in copies.parameters:
        events.add(parameter, PARAMETERS)
    for buffer in copies.buffers:
        events.add(buffer, BUFFERS)
    for tensor in copies.inputs:
        events.add(tensor, INPUTS)
    optimizer = None
    trained = [p for p in copies.parameters if p.requires_grad]
    if request.offloaded_from is not None:
        trained = [p for p in trained if p.numel() < request.offloaded_from]
    if request.training and request.optimizer is not None and trained:
        optimizer = build_optimizer(request.optimizer, dict(request.options), trained)
    if request.tokens:
        events.step, events.is_counting = STEPS, True
        with events.watched(), torch.no_grad(), request.around_forward():
            events.generation = run_generation(call, fed, events, request.tokens)
        events.step, events.phase = STEPS + 1, SETUP
        return
    with events.watched():
        for step in range(1, STEPS + 1):
            gc.collect(0)  # where all garbage of a step is, as nothing was collected
            events.step, events.is_counting = step, step == STEPS
            if request.training:
                _run_training_step(call, fed, copies, events, optimizer, request)
            else:
                events.phase = FORWARD
                with torch.no_grad(), request.around_forward():
                    call(fed)
    events.step, events.phase = STEPS + 1, SETUP  # what is freed from here is no event


def _run_training_step(
    call: Callable[..., Any],
    fed: Any,
    copies: _Copies,
    events: StorageEvents,
    optimizer: Any,
    request: StepRequest,
) -> None:
    """Run one step of a training."""
    events.phase = FORWARD
    for parameter in copies.parameters:
        parameter.grad = None
    for _ in range(min(request.parts, MOST_PARTS)):
        events.phase = FORWARD
        with request.around_forward():
            loss = _compute_loss(call(fed), request.loss)
            loss = loss / request.parts if request.parts > 1 else loss
        events.phase = BACKWARD
        loss.backward()
    for parameter in copies.parameters:
        if parameter.grad is not None:
            events.claim(parameter.grad, GRADIENTS)
    if optimizer is None:
        return
    events.phase = STEP
    optimizer.step()
    for state in optimizer.state.values():
        for value in tree_iter(state):
            if isinstance(value, torch.Tensor):
                events.claim(value, OPTIMIZER)


def _call_target(target: Callable[..., Any], fed: Any) -> Any:
    """Call the target; no line above this frame is the program's."""
    args, kwargs = fed
    return target(*args, **kwargs)


class _NoLoss(ValueError):
    """Raised where an output has nothing that backward could begin at."""


def _compute_loss(
    output: Any, compute: Callable[[Any], torch.Tensor] | None
) -> torch.Tensor:
    """Return a scalar: of a given function, the output's own loss, or the sum of the
    means of all outputs that need a gradient.
    """
    if compute is not None:
        return compute(output)
    own = output.get("loss") if isinstance(output, Mapping) else None
    own = getattr(output, "loss", None) if own is None else own
    if isinstance(own, torch.Tensor) and own.requires_grad:
        return own
    tensors = [
        leaf
        for leaf in tree_iter(output)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    ]
    if not tensors:
        raise _NoLoss(
            "no tensor of the output needs a gradient, so backward cannot run"
        )
    means = [tensor.mean() if tensor.dim() else tensor for tensor in tensors]
    total = means[0]
    for mean in means[1:]:
        total = total + mean
    return total


def _build_lazy_parameters(
    target: Any, fed: Any, copies: _Copies, modules: list[tuple[str, nn.Module]]
) -> None:
    """Give lazy parameters their shapes, which the first call decides."""
    if not any(
        isinstance(tensor, UninitializedTensor)
        for _, module in modules
        for tensor in (*module._parameters.values(), *module._buffers.values())
    ):
        return
    with torch.no_grad():
        _call_target(target, fed)
    for _, module in modules:
        for tensor in module._parameters.values():
            if tensor is not None and id(tensor) not in set(map(id, copies.parameters)):
                copies.parameters.append(tensor)


@contextmanager
def _suspend_collector() -> Iterator[None]:
    """Collect garbage between the steps only, so that every run frees alike."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _follow_autocast(kind: str, notes: dict[str, None]) -> Iterator[None]:
    """Let autocast of the device act, and note that of other kinds, which does not."""

    def watch(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(
            self: Any, device_type: str, dtype: Any = None, enabled: bool = True,
            cache_enabled: bool | None = None,
        ) -> None:  # fmt: skip
            if enabled and device_type != kind:
                notes[
                    f'`torch.autocast("{device_type}")` does nothing here: the step '
                    f"runs on a device of the kind `{kind}`"
                ] = None
            original(self, device_type, dtype, enabled, cache_enabled)

        return __init__

    with (
        replace_attribute(torch.autocast, "__init__", watch),
        use_autocast(kind) as is_followed,
    ):
        if not is_followed:
            notes["autocast is not followed with this version of torch"] = None
        yield


def list_unseen(
    modules: list[tuple[str, nn.Module]], has_recurrent_kernels: bool
) -> Iterator[str]:
    """Yield notes on modules whose kernels are not those of a device.

    On a GPU a recurrent layer is one kernel here too.
    """
    own = [getattr(module, "memory_note", "") for _, module in modules]
    yield from dict.fromkeys(note for note in own if note and isinstance(note, str))
    recurrent = [path for path, module in modules if isinstance(module, nn.RNNBase)]
    if recurrent and not has_recurrent_kernels:
        yield (
            f"`{recurrent[0]}` is counted step by step, as torch runs it without a "
            "fused kernel; a CPU keeps one block instead, of another size"
        )
    if any(isinstance(module, nn.TransformerEncoderLayer) for _, module in modules):
        yield (
            "`nn.TransformerEncoderLayer` is counted on its ordinary path; in "
            "evaluation torch may run it as one fused kernel, which takes less"
        )


def _explain_error(error: BaseException, folder: str) -> Finding:
    """Return the finding for what ended the program."""
    finding = make_failure(error, Mode(), Positions(folder, {}))
    if isinstance(error, UnreadableValue | UnknownOptimizer | UnknownModule | _NoLoss):
        return replace(finding, message=str(error))
    return finding


def _finish_record(
    events: StorageEvents,
    folder: str,
    notes: Mapping[str, None],
    error: Finding | None,
    parts: int,
) -> MemoryEvents:
    """Return the record; lines of the program's own files come before a library's."""
    positions = Positions(folder, {})
    spans: dict[Any, tuple[str, int]] = {}
    storages = []
    for note in events.notes:
        if note.site not in spans:
            spans[note.site] = find_program_line(note.site, positions)
        file, line = spans[note.site]
        saved_by = ""
        if note.kind == ACTIVATIONS:
            saved_by = events.calls.get(note.saved_at, ("", "", ()))[0] or note.op
        storages.append(
            StorageOrigin(note.kind, note.op, note.module, file, line, saved_by)
        )
    kept = tuple(event for event in events.events if event.step <= STEPS)
    kernels, ran = tuple(events.counts.kernels), min(parts, MOST_PARTS)
    return MemoryEvents(
        kept, tuple(storages), events.step, tuple(notes), error, kernels, parts / ran,
        events.generation,
    )  # fmt: skip


def find_program_line(site: Any, positions: Positions) -> tuple[str, int]:
    """Return the innermost line of the program; of a library, where it has none."""
    if not site:
        return "", 0
    own = [frame for frame in site if not is_installed(frame[0].co_filename)]
    span = positions.frame(*(own or site)[0]).span
    return span.file, span.line
