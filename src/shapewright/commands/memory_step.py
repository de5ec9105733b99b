"""A step of a target on a device: run without data, and read from its events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shapewright.analysis.memory.advice import find_advice
from shapewright.analysis.memory.caching_allocator import SMALLEST, replay_allocator
from shapewright.analysis.memory.device_memory import list_library_notes
from shapewright.analysis.memory.largest_batch import (
    estimate_events,
    find_largest_batch,
)
from shapewright.analysis.memory.peak_formulas import fit_formula
from shapewright.analysis.memory.peaks import draw_timeline, find_peak
from shapewright.analysis.memory.roofline import estimate_step
from shapewright.commands.memory_devices import METAL_NOTE, MemoryDevice
from shapewright.record.memory import (
    AllocatorAction,
    LargestBatch,
    Memory,
    MemoryEvents,
    StepEstimate,
)

if TYPE_CHECKING:
    from shapewright.commands.solve import Feeding
    from shapewright.runtime.memory.steps import StepRequest

DEFAULT_OPTIMIZER = "adamw"


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What is asked of the step.

    `device` is named as in `rehearse --device`. `training` is None for the mode that
    the model is in; in evaluation only forward runs. `loss` computes a loss of the
    output. `autocast` is "bf16" or "fp16" for autocast around forward and the loss,
    None for none. `what_if` are changes that are run as well; empty for those that may
    help, None for none. `must_fit` asks for these if the step does not fit. With
    `generate`, so many tokens follow the inputs instead of a step. `formula` asks for
    the bytes at the peak as a formula in the letters of the inputs.
    """

    optimizer: str = DEFAULT_OPTIMIZER
    device: str = "cpu"
    training: bool | None = None
    largest_batch: bool = False
    loss: Callable[[Any], Any] | None = None
    autocast: str | None = None
    what_if: tuple[str, ...] | None = None
    must_fit: bool = False
    generate: int = 0
    formula: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredStep:
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
        if self.options.formula and not self.feeding.letters:
            self.feeding.freed()  # which says how letters are written
        memory = self.run({}, notes)
        if self.options.formula and memory.complete:
            memory = self._find_formula(memory)
        if not letter or not memory.complete:
            return memory
        return replace(memory, largest_batch=self._find_largest(letter, memory))

    def _find_formula(self, memory: Memory) -> Memory:
        """Return the memory with the formula of its peak, or a note that none fits."""

        def measure(sizes: Mapping[str, int]) -> int | None:
            args, kwargs = self.feeding.arguments(sizes)
            events = record_steps(self.target, args, kwargs, self.request)
            return None if events.error is not None else find_peak(events).bytes

        from shapewright.runtime.memory.steps import record_steps

        batch = self.get_batch_letter()
        formula = fit_formula(self.feeding.letters, measure, batch)
        if formula is not None:
            return replace(memory, formula=formula)
        letters = " and ".join(f"`{name}`" for name in self.feeding.letters)
        note = f"no polynomial in {letters} is the peak at all sizes that were tried"
        return replace(memory, notes=(*memory.notes, note))

    def _find_batch(self) -> str:
        """Return the letter of the batch; raise `InputError` if there is none."""
        from shapewright.inputs.errors import InputError

        if self.device.memory is None:
            raise InputError(
                "a largest batch needs a device with a known memory: "
                '--device "H100 80GB"'
            )
        letter = self.get_batch_letter()
        if not letter:
            raise InputError(
                "a largest batch needs a letter to vary: write the batch as one, as in"
                ' "f32[B=8, 3, 224, 224]"'
            )
        return letter

    def get_batch_letter(self) -> str:
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
        device_memory = self.device.memory
        assert device_memory is not None
        start = self.feeding.letters[letter]
        known = {start: first}

        def measure(size: int) -> int:
            memory = known.get(size) or self.run({letter: size}, ())
            known[size] = memory
            if memory.total is None or not memory.complete:
                from shapewright.inputs.errors import InputError

                error = memory.events.error
                reason = error.message if error is not None else "nothing was recorded"
                raise InputError(f"the step does not run at {letter}={size}: {reason}")
            return memory.total.high

        def predict(size: int) -> int | None:
            runs = {n: run.events.events for n, run in known.items()}
            events = estimate_events(runs, size)
            if events is None:
                return None
            if not self.device.is_metal:
                return device_memory.add_up(replay_allocator(events).reserved).high
            record = replace(first.events, events=tuple(events))
            return device_memory.add_up(find_peak(record, SMALLEST).bytes).high

        search = find_largest_batch(
            measure, max(start, 1), device_memory.capacity[0], predict=predict
        )
        tried = {
            size: known[size].reserved or known[size].peak.bytes
            for size in sorted(search.tried)
        }
        return LargestBatch(letter, search.size, tried, search.is_exact)

    def run(self, sizes: Mapping[str, int], notes: tuple[str, ...]) -> Memory:
        """Return the memory at these sizes of the letters."""
        from shapewright.inputs.errors import InputError
        from shapewright.runtime.memory.generation import NoCache
        from shapewright.runtime.memory.steps import record_steps

        args, kwargs = self.feeding.arguments(sizes)
        try:
            events = record_steps(self.target, args, kwargs, self.request)
        except NoCache as error:
            raise InputError(str(error)) from None
        return self._fold(events, sizes, notes)

    def _fold(
        self,
        events: MemoryEvents,
        sizes: Mapping[str, int],
        notes: tuple[str, ...],
    ) -> Memory:
        """Return everything that follows from the events."""
        device = self.device
        notes = (*notes, *self._list_left_out(events))
        granularity = SMALLEST if device.memory is not None else 1
        peak = find_peak(events, granularity)
        training = self.request.training
        optimizer = self.request.optimizer
        name = optimizer.__name__ if optimizer is not None and training else ""
        reserved = total = allocated = None
        history: tuple[AllocatorAction, ...] = ()
        if device.memory is not None and device.is_metal:
            total = device.memory.add_up(peak.bytes)
        elif device.memory is not None:
            allocator = replay_allocator(events.events, events.steps)
            reserved, history = allocator.reserved, tuple(allocator.history)
            allocated = allocator.most_allocated
            total = device.memory.add_up(reserved)
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
            device.memory.capacity if device.memory is not None else None,
            advice=find_advice(peak, training, name, self.get_batch_letter()),
            notes=(*notes, *events.notes, *self._list_unknown(events)),
            sizes={**self.feeding.letters, **sizes},
            autocast=self.options.autocast or "",
            allocator=history,
            estimate=self._estimate(events),
            allocated=allocated,
        )

    def _estimate(self, events: MemoryEvents) -> StepEstimate | None:
        """Return the time of a step at best, if the device's rates are known."""
        memory = self.device.memory
        if memory is None or memory.rates is None or events.error is not None:
            return None
        return estimate_step(events, memory.rates)

    def _list_left_out(self, events: MemoryEvents) -> Iterator[str]:
        """Yield notes on what of a generation did not run."""
        generation = events.generation
        if generation is None:
            return
        if len(self.feeding.specs) > 1 or len(self.feeding.kwargs) > 1:
            yield "inputs besides the prompt are given with the prompt only"
        if generation.tokens > 4 and self.device.capability is not None:
            yield (
                "the prompt, three tokens and the last one ran; the caches of those "
                "between may leave gaps, for which the allocator reserves more"
            )

    def _list_unknown(self, events: MemoryEvents) -> tuple[str, ...]:
        """Return notes on what a GPU's libraries allocate and nobody publishes."""
        if self.device.is_metal:
            return (METAL_NOTE,)
        if self.device.capability is None or self.device.memory is None:
            return ()
        notes = list_library_notes(events, self.device.capability)
        if self.device.memory.rates is None:
            return (
                *notes,
                f"no time is estimated: the rates of `{self.device.name}` are not known"
                " here (a device file states them)",
            )
        return notes
