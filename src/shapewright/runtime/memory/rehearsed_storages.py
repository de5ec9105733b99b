"""Record which storages a rehearsed script allocates and frees on its claimed device.

A rehearsal of its own: every call runs on torch's data-free kernels, with those of the
device, and nothing that finds mistakes holds a tensor. Below autograd the storages are
seen, and above it the device that each claims: after a call, what it returned has one,
and its temporary storages are where its result is. A small tensor with values has a
storage on the CPU, whatever it claims, and counts for the device that it claims.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._pytree import tree_iter

from shapewright.analysis.memory.device_memory import Processors
from shapewright.engine import nests
from shapewright.engine.call_sites import Positions
from shapewright.engine.device_kernels import KernelChoice, use_device_kernels
from shapewright.engine.dispatch import plan_tables
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import BLANK, VALUED, Info
from shapewright.engine.private import FUNCTION_GETTER, get_autograd_node
from shapewright.engine.quick_kernels import compute_quickly
from shapewright.record.memory import (
    ACTIVATIONS,
    BACKWARD,
    BUFFERS,
    EVALUATION,
    FORWARD,
    FREE,
    GRADIENTS,
    INPUTS,
    OPTIMIZER,
    PARAMETERS,
    SETUP,
    STEP,
    TEMPORARY,
    Event,
    MemoryEvents,
    StorageOrigin,
)
from shapewright.record.rehearsed_memory import LoopTurn, RecordedRun
from shapewright.runtime.memory.steps import find_program_line, list_unseen
from shapewright.runtime.memory.storage_events import (
    IN_PLACE,
    LOSSES,
    StorageEvents,
    StorageNote,
    collect_operands,
    is_summed_in_place,
)
from shapewright.runtime.training.story import format_file

if TYPE_CHECKING:
    from shapewright.engine.engine import Args, Engine, Kwargs, Plan
    from shapewright.runtime.loops.loop_state import (
        Bucket,
        RehearsalState,
        RunningLoop,
    )

_ATEN: Any = torch.ops.aten

NOWHERE = "nowhere"
"""The device of storages of our own, such as the twins of tensors with values."""

FEW = 4
"""Turns of a loop after which garbage is collected at fewer of them."""


@dataclass(slots=True)
class _TurnMark:
    """A turn of a loop that runs; `outer` is the number of the turn around it."""

    loop: RunningLoop
    number: int
    total: int | None
    outer: int
    loader: tuple[str, int] | None


class RehearsedStorages(StorageEvents):
    """Records the storages of a rehearsal, with the device that each claims.

    The step of an event is the number of the innermost turn of a loop in which it
    happened; 0 is outside of all loops. If the memory is that of a GPU, tensors with
    values that stay on the CPU are not noted.
    """

    def __init__(
        self,
        capability: tuple[int, int] | None = None,
        folder: str = "",
        batches: Mapping[tuple[str, int], int] | None = None,
        kind: str = "cpu",
        processors: Processors | None = None,
    ) -> None:
        super().__init__([], has_host=False, processors=processors)
        self.folder = folder
        self.batches = batches or {}  # sizes with which loaders are tried, by place
        self.loaders: dict[tuple[str, int], int] = {}  # and those of the program
        self.keeps_whole = False
        self.capability = capability
        self.kind = kind
        self.is_of_gpu = kind != "cpu"
        self.stage: RehearsalState | None = None
        self.marks: list[_TurnMark | None] = [None]
        self.around: list[
            tuple[RunningLoop, int]
        ] = []  # loops that run, and their turns
        self.claimed: set[int] = set()  # modules whose states are known
        self.texts: dict[str, None] = {}
        self.began_step = 0  # storages before the step of an optimizer that runs
        self.fetched = 0  # batches so far
        self.twins: dict[int, set[int]] = {}  # of storages with values, by number
        self.owners: dict[int, int] = {}  # of the twins
        self.ended: set[int] = set()  # storages with values that only a twin needs

    # -- what the rehearsal tells ------------------------------------------------------

    def begin_turn(self, loop: RunningLoop, number: int, total: int | None) -> None:
        """Note that a turn of a loop of the program begins."""
        if not loop.outside:
            return
        self.end_loop(loop)
        if number <= FEW or number == total:
            gc.collect(1)  # as Python would have, between so many tensors
        outer = self.around[-1][1] if self.around else 0
        fetched = self.stage.fetched if self.stage is not None else []
        loader = None
        if len(fetched) > self.fetched:
            file, line = getattr(fetched[-1], "place", ("", 0))
            loader = format_file(file, self.folder), line
        self.fetched = len(fetched)
        self.marks.append(_TurnMark(loop, number, total, outer, loader))
        self.around.append((loop, len(self.marks) - 1))
        self.step = len(self.marks) - 1

    def end_loop(self, loop: RunningLoop) -> None:
        """Note that a loop ended, with all loops inside it."""
        for at, (running, _) in enumerate(self.around):
            if running is loop:
                del self.around[at:]
                break
        self.step = self.around[-1][1] if self.around else 0

    def choose_batch(self, place: tuple[str, int], size: int) -> int:
        """Return the batch size with which the loader of a line is tried."""
        near = format_file(place[0], self.folder), place[1]
        self.loaders[near] = size
        return self.batches.get(near, size)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing that is allocated in the block."""
        began = len(self.notes)
        try:
            yield
        finally:
            for note in self.notes[began:]:
                note.device = NOWHERE

    def add_note(self, text: str) -> None:
        """Add a sentence on what is not known of the memory; once if it is repeated."""
        self.texts[text] = None

    def hold_buckets(self, buckets: Sequence[Bucket]) -> list[torch.Tensor]:
        """Return buffers for gradients, which count as long as they are held."""
        held = []
        with torch._C.DisableTorchFunction():
            for count, dtype, device in buckets:
                began = len(self.notes)
                held.append(torch.empty(count, dtype=dtype, device="meta"))
                for note in self.notes[began:]:
                    note.kind, note.device = GRADIENTS, device
        return held

    @contextmanager
    def watched_rehearsal(self, stage: RehearsalState) -> Iterator[None]:
        """Record the storages of the script that runs in the block."""
        self.stage = stage
        stage.facts.sample = 0
        stage.engine.watch_gradients(None)
        stage.lists.forgets = True
        with ExitStack() as stack:
            choice = KernelChoice(self.capability, self.kind == "mps")
            stack.enter_context(use_device_kernels(choice))
            before = register_optimizer_step_pre_hook(self._begin_step)
            stack.callback(before.remove)
            after = register_optimizer_step_post_hook(self._end_step)
            stack.callback(after.remove)
            stack.enter_context(self.watched())
            try:
                yield
            finally:
                self._claim_states()
                self.step, self.phase = -1, SETUP
                paths = stage.calls.paths
                modules = [
                    (paths.get(key, ""), module)
                    for key, module in stage.calls.alive.items()
                ]
                is_gpu = self.processors is not None
                self.texts.update(dict.fromkeys(list_unseen(modules, is_gpu)))

    def _begin_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._claim_states()
        self.phase, self.began_step = STEP, len(self.notes)

    def _end_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.phase = FORWARD
        with torch._C.DisableTorchFunction():
            for state in optimizer.state.values():
                for value in tree_iter(state):
                    if isinstance(value, torch.Tensor):
                        self._claim_live(value, OPTIMIZER)
        note = getattr(optimizer, "memory_note", "")
        if isinstance(note, str) and note:
            self.add_note(note)
        if getattr(optimizer, "is_one_kernel", False) is True:
            for storage_note in self.notes[self.began_step :]:
                if storage_note.kind == TEMPORARY:
                    storage_note.device = NOWHERE

    def _claim_states(self) -> None:
        """Say which storages are parameters, buffers and gradients."""
        stage = self.stage
        assert stage is not None
        with torch._C.DisableTorchFunction():
            for module in list(stage.calls.alive.values()):
                for parameter in module._parameters.values():
                    if parameter is None:
                        continue
                    self._claim_live(parameter, PARAMETERS)
                    gradient = stage.grad(parameter)
                    if isinstance(gradient, torch.Tensor):
                        self._claim_live(gradient, GRADIENTS)
                for buffer in module._buffers.values():
                    if buffer is not None:
                        self._claim_live(buffer, BUFFERS)

    def _claim_live(self, tensor: torch.Tensor, kind: str) -> None:
        """Say what a storage holds that is known."""
        if tensor.layout is not torch.strided:
            return
        known = self.live.get(tensor.untyped_storage()._cdata)
        if known is not None:
            self.notes[known[1]].kind = kind

    # -- calls of the program ----------------------------------------------------------

    def watch_plan(self, plan: Plan) -> Plan:
        """Return a plan that also notes the devices of what a call allocates."""

        def answer(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
            began, phase, frames = len(self.notes), self.phase, self.frames
            name = get_plain_name(func)
            is_getter = isinstance(func, FUNCTION_GETTER)  # `p.grad`
            if name == "backward" or (name == "grad" and not is_getter):
                self.phase = BACKWARD
                self.frames = len(self.sites.here())
            elif phase == SETUP and engine.call:
                self.phase = FORWARD
            out: Any = None
            try:
                out = plan(engine, func, args, kwargs)
            finally:
                if self.phase == BACKWARD and phase != BACKWARD:
                    self.phase, self.frames = FORWARD, frames
                    self._claim_states()
                with torch._C.DisableTorchFunction():
                    self._note_devices(engine, began, name, (args, kwargs), out)
            return out

        return answer

    def _note_devices(
        self, engine: Engine, began: int, name: str, arguments: Any, out: Any
    ) -> None:
        """Note where the storages are that a call has allocated."""
        device = ""
        operands = nests.collect_tensors(arguments)
        infos: list[Info] = []
        for tensor in operands:
            info = _get_info(engine, tensor)
            if info is None:
                continue
            infos.append(info)
            if info.kind != BLANK:
                self._follow_twin(tensor, info)
            if info.meta.device != "cpu":
                device = device or info.meta.device
        moved = name in plan_tables.MOVES and any(i.meta.device == "cpu" for i in infos)
        for tensor in nests.collect_tensors((out,)):
            info = _get_info(engine, tensor)
            if info is None or tensor.layout is not torch.strided:
                continue
            if info.kind == VALUED and info.meta.device == "cpu" and self.is_of_gpu:
                continue  # most of what data sets make
            number = self._number_of(tensor, info, name)
            if number < 0:
                continue
            note = self.notes[number]
            note.device = note.device or info.meta.device
            if number >= began:
                device = device or info.meta.device
                if moved and note.kind == TEMPORARY and note.device != "cpu":
                    is_state = isinstance(operands[0], torch.nn.Parameter)
                    note.kind = PARAMETERS if is_state else INPUTS
        for note in self.notes[began:]:
            note.device = note.device or device or "cpu"

    def _follow_twin(self, tensor: torch.Tensor, info: Info) -> None:
        """Let a storage with values live as long as a twin of it that autograd saves.

        The record of the run would keep the twin, and the values, as long as itself.
        """
        twin = info.twin
        if twin is not None and twin.layout is torch.strided:
            known = self.live.get(twin.untyped_storage()._cdata)
            own = self.live.get(tensor.untyped_storage()._cdata)
            if known is not None:
                self.notes[known[1]].device = NOWHERE
            if known is not None and own is not None:
                self.twins.setdefault(own[1], set()).add(known[1])
                self.owners[known[1]] = own[1]
        if info.kind == VALUED:
            clone, own_data = info.storage.clone, tensor.untyped_storage()
            if clone is not None and clone.data_ptr() == own_data.data_ptr():
                info.storage.clone = clone.clone()  # else it would outlive the tensor
            if not info.meta.requires_grad:  # a leaf's twin has its gradient
                info.twin = info.storage.blank = None

    def _tell(self, action: str, number: int, size: int) -> None:
        if action == FREE and any(
            self.sizes[twin] for twin in self.twins.get(number, ())
        ):
            self.ended.add(number)
            return
        super()._tell(action, number, size)
        owner = self.owners.get(number) if action == FREE else None
        if owner is not None and owner in self.ended:
            self._tell(FREE, owner, 0)

    def _number_of(self, tensor: torch.Tensor, info: Info, name: str) -> int:
        """Return the number of a storage; one with values is noted here."""
        storage = tensor.untyped_storage()
        known = self.live.get(storage._cdata)
        if known is not None and known[0]() is not None:
            return known[1]
        if info.kind != VALUED or tensor.is_meta:
            return -1
        site = self.sites.here()
        self.has_host = True
        try:
            number = self.add(tensor, TEMPORARY, name, site)
        finally:
            self.has_host = False
        self.notes[number].ran_at = site
        return number

    # -- below autograd ----------------------------------------------------------------

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tensors = collect_operands((*args, *kwargs.values()))
        node = get_autograd_node()
        if node is not None and func is _ATEN.add.Tensor and is_summed_in_place(args):
            args[0].add_(args[1])
            return args[0]
        if node is not None and func in IN_PLACE and self._is_new(args[0]):
            return IN_PLACE[func](*args, **kwargs)
        output = compute_quickly(func, args, kwargs)
        if func in LOSSES and output.is_meta:
            output = self._keep_elements(func, args, output)
        results = output if isinstance(output, tuple | list) else (output,)
        if any(t.is_meta for t in (*tensors, *collect_operands(results))):
            scratch = self._find_scratch(func, args, node, output)
            self._note_outputs(func, tensors, node, output, scratch)
        return output

    def _get_module(self) -> str:
        stage = self.stage
        assert stage is not None
        call = stage.engine.call
        return stage.calls.records[call].path if call else ""

    def _is_setup(self) -> bool:
        return self.phase == SETUP and not self.step

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note that autograd saves a tensor, whose claims its alias has too."""
        engine = self.stage.engine if self.stage is not None else None
        with torch._C.DisableTorchFunction():
            alias = super().save(tensor)
            info = _get_info(engine, tensor) if engine is not None else None
            if info is not None and engine is not None:
                engine.tell(alias, info)
            return alias

    # -- the end -----------------------------------------------------------------------

    def finish(self, device: str, ended_early: str = "") -> RecordedRun:
        """Return what was allocated and freed on a device, `cuda:0` for instance."""
        kept = {
            number: at
            for at, number in enumerate(
                n for n, note in enumerate(self.notes) if note.device == device
            )
        }
        phases = self._find_phases()
        numbers = self._number_turns()
        events = tuple(
            Event(
                event.action, kept[event.storage], event.bytes, numbers[event.step],
                phases[event.step] if event.phase in (SETUP, FORWARD) and
                numbers[event.step] else event.phase,
            )
            for event in self.events
            if event.storage in kept and event.step >= 0
        )  # fmt: skip
        positions = Positions(self.folder, {})
        lines: dict[Any, tuple[str, int]] = {}

        def line_of(site: Any) -> tuple[str, int]:
            if site not in lines:
                lines[site] = find_program_line(site, positions)
            return lines[site]

        notes = [self.notes[number] for number in kept]
        storages = tuple(self._describe_storage(note, line_of) for note in notes)
        places = tuple(line_of(note.ran_at) for note in notes)
        record = MemoryEvents(events, storages, 0, tuple(self.texts))
        turns = tuple(self._list_turns())
        return RecordedRun(record, places, turns, ended_early)

    def _describe_storage(
        self, note: StorageNote, line_of: Callable[[Any], tuple[str, int]]
    ) -> StorageOrigin:
        saved_by = ""
        if note.kind == ACTIVATIONS:
            saved_by = self.calls.get(note.saved_at, ("", "", ()))[0] or note.op
        return StorageOrigin(
            note.kind, note.op, note.module, *line_of(note.site), saved_by
        )

    def _is_told(self, mark: _TurnMark) -> bool:
        """Return whether a turn is of a loop over data, of one that trains, or of one
        whose turns were left out.
        """
        return mark.loop.loads or mark.loop.trains or mark.loop.omitted > 0

    def _number_turns(self) -> list[int]:
        """Return for each turn the number of the turn that is told of it."""
        numbers, count = [0], 0
        for mark in self.marks[1:]:
            assert mark is not None
            if self._is_told(mark):
                count += 1
                numbers.append(count)
            else:
                numbers.append(numbers[mark.outer])
        return numbers

    def _find_phases(self) -> list[str]:
        """Return for each turn whether a forward pass in it is an evaluation."""
        trains = any(mark is not None and mark.loop.trains for mark in self.marks)
        phases = [FORWARD]
        for mark in self.marks[1:]:
            assert mark is not None
            if mark.loop.loads or mark.loop.trains:
                is_evaluation = trains and not mark.loop.trains
                phases.append(EVALUATION if is_evaluation else FORWARD)
            else:
                phases.append(phases[mark.outer])
        return phases

    def _list_turns(self) -> Iterator[LoopTurn]:
        numbers = self._number_turns()
        for mark in self.marks[1:]:
            assert mark is not None
            if self._is_told(mark):
                file, line = mark.loop.place
                yield LoopTurn(
                    format_file(file, self.folder), line, mark.number, mark.total,
                    mark.loop.trains, numbers[mark.outer], mark.loader,
                    self.loaders.get(mark.loader, 0) if mark.loader else 0,
                )  # fmt: skip


def _get_info(engine: Engine, tensor: torch.Tensor) -> Info | None:
    """Return what a run knows of a tensor, if anything."""
    info: Info | None = getattr(tensor, "_sw", None)
    if info is None:
        pair = engine.theirs.get(id(tensor))
        info = pair[1] if pair is not None else None
    return info
