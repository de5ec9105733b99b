"""`memory --what-if`: changes to a step, each run without data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.analysis.memory.changes import (
    NAMES,
    OFFLOADED_FROM,
    Change,
    UnknownChange,
    choose_checkpointed,
    join_changes,
    list_candidates,
    name_optimizer,
    read_change,
)
from shapewright.analysis.memory.peaks import count_activations
from shapewright.commands.memory_step import MeasuredStep
from shapewright.record.memory import (
    FITS,
    TIGHT,
    TOO_LARGE,
    Memory,
    RehearsedChange,
    TotalBytes,
)

if TYPE_CHECKING:
    from shapewright.runtime.memory.steps import StepRequest

WORTH = 0.01
"""The least share of its bytes that a suggested change saves."""

MOST_JOINED = 4
"""Suggested changes that are made together, at most."""


def measure_with_changes(step: MeasuredStep, notes: tuple[str, ...]) -> Memory:
    """Return the memory of a step, and that of each change that is asked for.

    Without names, those that may help are run and ranked; so they are with `must_fit`
    where the step does not surely fit. Raises `InputError` for a change that the step
    cannot have.
    """
    from shapewright.inputs.errors import InputError

    options = step.options
    try:
        changes = [_read_change(step, text) for text in options.what_if or ()]
        for change in changes:
            _apply_change(step, change)
    except UnknownChange as error:
        raise InputError(str(error)) from None
    memory = step.measure(notes)
    if not memory.complete:
        return memory
    if changes:
        rows = [_rehearse_change(step, memory, change) for change in changes]
    elif options.what_if is not None or (
        options.must_fit and memory.verdict in (TIGHT, TOO_LARGE)
    ):
        rows = _rank_changes(step, memory, list(_list_candidates(step, memory)))
    else:
        return memory
    return replace(memory, what_if=tuple(rows))


# -- one change ------------------------------------------------------------------------


def _read_change(step: MeasuredStep, text: str) -> Change:
    """Return a change; its edits name the step's own device and optimizer."""
    from shapewright.runtime.memory.optimizers import UnknownOptimizer, read_optimizer

    optimizer = step.request.optimizer
    name = optimizer.__name__ if optimizer is not None else "AdamW"
    change = read_change(text, step.request.kind, name)
    if not change.optimizer:
        return change
    try:
        kind, _ = read_optimizer(change.optimizer)
    except UnknownOptimizer as error:
        if "there is " not in str(error):
            raise UnknownChange(str(error)) from None
        known = f"there is {', '.join(NAMES)}, and torch's optimizers, such as `sgd`"
        raise UnknownChange(f"no change `{change.text}`; {known}") from None
    return name_optimizer(change, kind.__name__) if kind is not None else change


def _apply_change(
    step: MeasuredStep, change: Change
) -> tuple[MeasuredStep, dict[str, int]]:
    """Return the step with a change, and the sizes at which it runs.

    Raises `UnknownChange` for what the step does not have.
    """
    from shapewright.runtime.memory.checkpoints import UnknownModule, find_modules
    from shapewright.runtime.memory.steps import find_dtype

    options = step.options
    request = _change_optimizer(step, change)
    modules = list(getattr(step.target, "named_modules", dict)())
    try:
        find_modules(modules, change.checkpointed)
    except UnknownModule as error:
        raise UnknownChange(str(error)) from None
    if change.autocast:
        options = replace(options, autocast=change.autocast)
        request = replace(request, autocast=find_dtype(change.autocast))
    request = replace(
        request, checkpointed=change.checkpointed, parts=change.accumulated
    )
    changed = replace(step, options=options, request=request)
    return changed, _find_sizes(step, change)


def _change_optimizer(step: MeasuredStep, change: Change) -> StepRequest:
    """Return the request with the optimizer of a change."""
    from shapewright.runtime.memory.optimizers import read_optimizer

    request = step.request
    if change.optimizer:
        kind, settings = read_optimizer(change.optimizer)
        request = replace(request, optimizer=kind, options=settings)
    if not change.is_foreach:
        settings = {**request.options, "foreach": False}
        request = replace(request, options=settings)
    if change.is_offloaded:
        if request.kind == "cpu":
            raise UnknownChange(
                "`offload-optimizer` needs a GPU: on the CPU its state is there already"
            )
        request = replace(request, offloaded_from=OFFLOADED_FROM)
    return request


def _find_sizes(step: MeasuredStep, change: Change) -> dict[str, int]:
    """Return the sizes of letters with a change; a part of a batch is run as one."""
    batch = step.get_batch_letter()
    letters: Mapping[str, int] = step.feeding.letters
    sizes = {name or batch: size for name, size in change.sizes.items()}
    for name in sizes:
        if name not in letters:
            known = f"there is {', '.join(letters)}" if letters else "there is none"
            raise UnknownChange(
                f"`{change.text}` needs a letter of the inputs, as in "
                f'"f32[B=8, 3, 224, 224]"; {known}'
            )
    if change.accumulated > 1:
        size = sizes.get(batch, letters.get(batch, 0))
        if not batch or size % change.accumulated:
            raise UnknownChange(
                f"`accumulate={change.accumulated}` divides a batch: give it a letter "
                f"with a multiple of {change.accumulated}"
            )
        sizes[batch] = size // change.accumulated
    return sizes


def _rehearse_change(
    step: MeasuredStep, memory: Memory, change: Change
) -> RehearsedChange:
    """Return what the step takes with a change; why it does not run is in it."""
    changed_step, sizes = _apply_change(step, change)
    changed = changed_step.run(sizes, ())
    error = changed.events.error
    edits = _list_edits(step, change)
    if error is not None:
        return RehearsedChange(change.text, edits, error=error.message)
    return RehearsedChange(
        change.text,
        edits,
        changed.peak.bytes,
        changed.reserved,
        changed.total,
        changed.verdict,
        _count_bytes(memory.total, memory.peak.bytes)
        - _count_bytes(changed.total, changed.peak.bytes),
        changed.flops,
    )


def _list_edits(step: MeasuredStep, change: Change) -> tuple[str, ...]:
    """Return the edits of a change, as the model's own library writes them.

    Models of transformers have a switch for the checkpoints of their layers.
    """
    from shapewright.runtime.memory.checkpoints import find_modules

    switch = "gradient_checkpointing_enable"
    if not change.checkpointed or not hasattr(step.target, switch):
        return change.edits
    named = list(getattr(step.target, "named_modules", dict)())
    modules = find_modules(named, change.checkpointed)
    if not all(hasattr(module, "gradient_checkpointing") for module in modules):
        return change.edits
    others = [edit for edit in change.edits if "torch.utils.checkpoint" not in edit]
    return (f"model.{switch}()", *others)


def _count_bytes(total: TotalBytes | None, tensors: int) -> int:
    """Return the bytes by which changes are compared."""
    return tensors if total is None else total.high


# -- changes that may help -------------------------------------------------------------


def _list_candidates(step: MeasuredStep, memory: Memory) -> Iterator[Change]:
    """Yield changes that may help, and that the step can have."""
    modules: dict[str, Any] = dict(getattr(step.target, "named_modules", dict)())
    classes = {
        path: _name_module(path, module)
        for path, module in modules.items()
        if path and _has_children_and_forward(module)
    }
    chosen = choose_checkpointed(count_activations(memory.events), classes)
    parameters: list[Any] = list(getattr(step.target, "parameters", tuple)())
    has_full = any(str(parameter.dtype) == "torch.float32" for parameter in parameters)
    capability = step.request.capability
    half = "fp16" if capability is not None and capability < (8, 0) else "bf16"
    dtype = half if has_full else ""
    for text in list_candidates(memory, step.get_batch_letter(), chosen, dtype):
        change = _read_change(step, text)
        try:
            _apply_change(step, change)
        except UnknownChange:
            continue
        yield change


def _name_module(path: str, module: Any) -> str:
    """Return its class, or for torch's own container the pattern of its path.

    Example: ``blocks.*.mlp`` for the `nn.Sequential` at ``blocks.3.mlp``.
    """
    name = type(module).__name__
    if name != "Sequential":
        return name
    return ".".join("*" if part.isdigit() else part for part in path.split("."))


def _has_children_and_forward(module: Any) -> bool:
    """Return whether a module is made of others, and is called itself."""
    if not any(True for _ in module.children()):
        return False
    return type(module).__name__ not in ("ModuleList", "ModuleDict")


def _rank_changes(
    step: MeasuredStep, memory: Memory, changes: Sequence[Change]
) -> list[RehearsedChange]:
    """Return the changes that help, what saves most first, and several together.

    Where the step does not fit and no single change makes it fit, the best are joined
    until it does.
    """
    rows = [_rehearse_change(step, memory, change) for change in changes]
    least = WORTH * _count_bytes(memory.total, memory.peak.bytes)
    helping = sorted(
        (pair for pair in zip(changes, rows, strict=True) if pair[1].saved > least),
        key=lambda pair: -pair[1].saved,
    )
    ranked = [row for _, row in helping]
    if memory.verdict in ("", FITS) or any(row.verdict == FITS for row in ranked):
        return ranked
    joined: list[Change] = []
    for change, _ in helping:
        if any(change.subjects & other.subjects for other in joined):
            continue
        joined.append(change)
        if len(joined) > 1:
            ranked.append(_rehearse_change(step, memory, join_changes(joined)))
            if ranked[-1].verdict == FITS or len(joined) == MOST_JOINED:
                break
    return ranked
