"""The record of a step's memory: which storages lived when, and what they held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from shapewright.findings.finding import Finding

PARAMETERS = "parameters"
GRADIENTS = "gradients"
OPTIMIZER = "optimizer"
ACTIVATIONS = "activations"
BUFFERS = "buffers"
INPUTS = "inputs"
TEMPORARY = "temporary"
CACHE = "cache"
WORKSPACES = "workspaces"

KINDS = (
    PARAMETERS, GRADIENTS, OPTIMIZER, ACTIVATIONS, BUFFERS, INPUTS, CACHE, TEMPORARY,
    WORKSPACES,
)  # fmt: skip
"""What a storage holds: `activations` are what autograd saved for backward, `buffers`
also tensors that modules hold under other names, `cache` are the keys and values of a
generation, `workspaces` what kernels of a GPU take for themselves, `temporary` is
everything else."""

SETUP, FORWARD, BACKWARD, STEP = "setup", "forward", "backward", "optimizer step"
EVALUATION = "evaluation"
"""In a rehearsal: a forward pass in a loop that does not train."""

PREFILL, DECODE, LAST_TOKEN = "prefill", "decode", "last token"
"""In a generation: the prompt, the first tokens after it, and the last one."""

ALLOCATE, FREE, RESIZE = "allocate", "free", "resize"


@dataclass(frozen=True, slots=True)
class Event:
    """A storage is allocated, freed or resized.

    `bytes` is its size from then on, not rounded: 0 where it is freed. `step` counts
    from 1; what was there before the first step is of step 0.
    """

    action: str
    storage: int
    bytes: int
    step: int
    phase: str


@dataclass(frozen=True, slots=True)
class StorageOrigin:
    """Where a storage comes from, and what it holds.

    `file` and `line` are the program's, for what backward allocates those of the call
    whose gradient it is; empty and 0 where no line of the program was running, as in
    an optimizer. `saved_by` is the operator that saved it for backward.
    """

    kind: str
    op: str = ""
    module: str = ""
    file: str = ""
    line: int = 0
    saved_by: str = ""


class KernelWork(NamedTuple):
    """What a kernel does: its FLOPs, and the bytes that it reads and writes.

    `flops` are those of matrix products, convolutions and attention, 0 of others.
    """

    phase: str
    module: str
    op: str
    dtype: str
    flops: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """What a step takes at best on a device, by the rates of its data sheet.

    `seconds` are by phase. Each kernel takes as long as its FLOPs or its bytes take at
    full speed, whichever is longer; `arithmetic` is the share of the time in kernels
    that arithmetic bounds.
    """

    seconds: Mapping[str, float]
    arithmetic: float


@dataclass(frozen=True, slots=True)
class PeakFormula:
    """The bytes of tensors at the peak, not rounded, as a polynomial in letters.

    `terms` are coefficients by the powers of the `letters`. It agrees with every run in
    `tried`, of which the last was no part of the fit.
    """

    letters: tuple[str, ...]
    terms: Mapping[tuple[int, ...], int]
    tried: tuple[tuple[int, ...], ...]

    @property
    def text(self) -> str:
        """Return the formula as it is written in Python: ``6*B*T + 100``."""
        text = ""
        for powers, value in sorted(self.terms.items(), reverse=True):
            factors = [str(abs(value))] if abs(value) != 1 or not any(powers) else []
            for letter, power in zip(self.letters, powers, strict=True):
                if power:
                    factors.append(letter if power == 1 else f"{letter}**{power}")
            sign = "-" if value < 0 else "+" if text else ""
            text += f" {sign} " if text else sign
            text += "*".join(factors)
        return text or "0"

    def compute(self, **sizes: int) -> int:
        """Return the bytes at these sizes of the letters."""
        total = 0
        for powers, value in self.terms.items():
            for letter, power in zip(self.letters, powers, strict=True):
                value *= sizes[letter] ** power
            total += value
        return total


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation of `tokens` tokens after a prompt of `prompt` tokens.

    `cache_of_prompt` and `cache` are the bytes of the cache after the prompt and after
    the last token; `cache_per_token` is what each token adds, None where that differs.
    """

    prompt: int
    tokens: int
    cache_of_prompt: int
    cache: int
    cache_per_token: int | None


@dataclass(frozen=True, slots=True)
class MemoryEvents:
    """Everything that the steps of a run allocated and freed.

    `storages` are numbered from 0, as in the events. `steps` is how many steps ran, and
    `error` is what ended the last of them. `notes` say what was supposed or not seen.
    `kernels` are those of the last step that read or write elements; of a batch in
    parts some ran, and `repeats` is how often those of forward and backward run in all.
    """

    events: tuple[Event, ...]
    storages: tuple[StorageOrigin, ...]
    steps: int
    notes: tuple[str, ...] = ()
    error: Finding | None = None
    kernels: tuple[KernelWork, ...] = ()
    repeats: float = 1.0
    generation: Generation | None = None

    def sum_flops(self) -> dict[tuple[str, str], int]:
        """Return the FLOPs of the last step by phase and module."""
        flops: dict[tuple[str, str], int] = {}
        for work in self.kernels:
            if work.flops:
                key = work.phase, work.module
                flops[key] = flops.get(key, 0) + work.flops
        return {key: round(count * self.repeats) for key, count in flops.items()}


NEW_SEGMENT = "segment"

AllocatorAction = tuple[str, int, int, int]
"""What the allocator does: `NEW_SEGMENT`, `ALLOCATE` or `FREE`, the number of the
storage (-1 for a segment), the address, and the bytes: of a segment all of it, of a
storage those that were asked for."""


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes of one kind that live at the peak, of one line of the program."""

    bytes: int
    file: str
    line: int
    module: str
    saved_by: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return ``model.py:21``, or the module if no line is known."""
        return f"{self.file}:{self.line}" if self.file else self.module or "(no line)"


@dataclass(frozen=True, slots=True)
class Peak:
    """What lives when the most bytes do, in the last step.

    `kinds` adds up to `bytes`; `lines` are the activations by line of the program, the
    largest first. `module`, `file` and `line` are where the peak is, `event` is the
    place of its event in the record.
    """

    bytes: int
    phase: str
    kinds: Mapping[str, int]
    lines: tuple[HeldBytes, ...]
    op: str = ""
    module: str = ""
    file: str = ""
    line: int = 0
    event: int = -1


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """The most bytes that live within a stretch of the last step."""

    phase: str
    bytes: int


@dataclass(frozen=True, slots=True)
class TotalBytes:
    """What a process takes of a GPU: between `low` and `high` bytes.

    `reserved` by the allocator, the workspaces of cuBLAS and cuDNN within it, and the
    CUDA context outside of it, `context` at least and at most.
    """

    reserved: int
    context: tuple[int, int]

    @property
    def low(self) -> int:
        return self.reserved + self.context[0]

    @property
    def high(self) -> int:
        return self.reserved + self.context[1]


FITS, TIGHT, TOO_LARGE = "fits", "tight", "does not fit"


@dataclass(frozen=True, slots=True)
class LargestBatch:
    """The largest size of a letter that fits.

    `tried` maps sizes to reserved bytes. `is_exact` says that one more was tried as
    well and does not fit; `size` is 0 where not even 1 fits.
    """

    letter: str
    size: int
    tried: Mapping[int, int]
    is_exact: bool


@dataclass(frozen=True, slots=True)
class RehearsedChange:
    """What a step takes with a change, by running it.

    `change` is how it is written for `--what-if`, `edits` are the lines of code that
    make it. `saved` are bytes less than as it is: of what the process has on a GPU, of
    tensors on the CPU. `flops` are those of the step. `error` says why it does not
    run; then all numbers are 0.
    """

    change: str
    edits: tuple[str, ...]
    bytes: int = 0
    reserved: int | None = None
    total: TotalBytes | None = None
    verdict: str = ""
    saved: int = 0
    flops: int = 0
    error: str = ""


renderers: dict[str, Callable[[Memory], str]] = {}
"""Functions that render a memory record, by MIME type; views register them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Memory:
    """The memory that a step takes, before any of it is allocated.

    Example::

        memory = sw.memory(model, "f32[64, 3, 224, 224]", device="A100 40GB")
        memory.peak.bytes                 # bytes of tensors
        memory.reserved                   # what torch's allocator takes for them
        memory.total.low, memory.total.high
        memory.peak.kinds["activations"]

    `allocated` is what torch's allocator counts of the tensors at most: where less than
    1 MiB of a segment is left over, it belongs to the tensor. This, `reserved` and
    `total` are None on the CPU, which has no caching allocator.
    `capacity` is what the device has, at least and at most, None on the CPU; `verdict`
    is "fits", "tight" (it depends on what is not known), "does not fit", or empty, also
    for a step that did not end.
    `training` says whether the model was in training mode and backward ran. `advice`
    are changes that would help. `autocast` is "bf16" or "fp16" if forward and the loss
    ran under it by request, else empty. `events` is the whole record; all else follows
    from it. `what_if` are changes that were run as well, None if none
    was to be. `allocator` is what torch's allocator does, from the first parameter on.
    `estimate` is the time of a step at best, None for a device without known rates.
    `formula` is that of the peak, None if none was asked for or fits.
    """

    target: str
    spec: str
    device: str
    optimizer: str
    training: bool
    events: MemoryEvents
    peak: Peak
    timeline: tuple[TimelinePoint, ...] = ()
    reserved: int | None = None
    total: TotalBytes | None = None
    capacity: tuple[int, int] | None = None
    largest_batch: LargestBatch | None = None
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    autocast: str = ""
    what_if: tuple[RehearsedChange, ...] | None = None
    allocator: tuple[AllocatorAction, ...] = ()
    estimate: StepEstimate | None = None
    allocated: int | None = None
    formula: PeakFormula | None = None

    @property
    def flops(self) -> int:
        """Return the FLOPs of the step, of products, convolutions and attention.

        Of a generation, those of the prompt, of the first token after it and of the
        last one.
        """
        return sum(self.events.sum_flops().values())

    @property
    def generation(self) -> Generation | None:
        """Return the generation that ran, None for a step."""
        return self.events.generation

    @property
    def complete(self) -> bool:
        """Return whether all steps ran to their end."""
        return self.events.error is None

    @property
    def verdict(self) -> str:
        """Return whether the step fits on the device."""
        if self.total is None or self.capacity is None or not self.complete:
            return ""
        if self.total.low > self.capacity[1]:
            return TOO_LARGE
        return FITS if self.total.high <= self.capacity[0] else TIGHT

    def to_dict(self, events: bool = False) -> dict[str, Any]:
        """Return the record as plain values; the events too, if they are asked for."""
        error = self.events.error
        plain: dict[str, Any] = {
            "version": 1,
            "target": self.target,
            "spec": self.spec,
            "sizes": dict(self.sizes),
            "device": self.device,
            "optimizer": self.optimizer,
            "training": self.training,
            "autocast": self.autocast,
            "complete": self.complete,
            "error": None if error is None else f"{error.message}",
            "tensors": self.peak.bytes,
            "allocated": self.allocated,
            "reserved": self.reserved,
            "total": None if self.total is None else describe_total(self.total),
            "capacity": None if self.capacity is None else list(self.capacity),
            "verdict": self.verdict,
            "peak": describe_peak(self.peak),
            "timeline": [[p.phase, p.bytes] for p in self.timeline],
            "largest_batch": describe_batch(self.largest_batch),
            "formula": None if self.formula is None else self.formula.text,
            "generation": None if self.generation is None else asdict(self.generation),
            "flops": self.flops,
            "modules": _describe_flops(self.events.sum_flops()),
            "estimate": None
            if self.estimate is None
            else {
                "seconds": dict(self.estimate.seconds),
                "arithmetic": self.estimate.arithmetic,
            },
            "what_if": [_describe_change(row) for row in self.what_if or ()],
            "advice": list(self.advice),
            "notes": list(self.notes),
        }
        if events:
            plain["events"] = _list_events(self.events.events)
            plain["storages"] = [
                [s.kind, s.op, s.module, s.file, s.line, s.saved_by]
                for s in self.events.storages
            ]
        return plain

    def __repr__(self) -> str:
        sizes = f"{_format_gib(self.peak.bytes)} of tensors"
        if self.reserved is not None:
            sizes += f", {_format_gib(self.reserved)} reserved"
        verdict = f", {self.verdict}" if self.verdict else ""
        state = "" if self.complete else ", stopped by an error"
        return f"<Memory of {self.target} on {self.device}: {sizes}{verdict}{state}>"

    def __str__(self) -> str:
        return renderers.get("text/plain", repr)(self)


def describe_total(total: TotalBytes) -> dict[str, Any]:
    """Return what a process takes as plain values."""
    return {
        "low": total.low,
        "high": total.high,
        "context": list(total.context),
    }


def describe_peak(peak: Peak) -> dict[str, Any]:
    """Return a peak as plain values."""
    return {
        "bytes": peak.bytes,
        "phase": peak.phase,
        "kinds": dict(peak.kinds),
        "op": peak.op,
        "module": peak.module,
        "file": peak.file,
        "line": peak.line,
        "activations": [
            {
                "bytes": held.bytes,
                "file": held.file,
                "line": held.line,
                "module": held.module,
                "saved_by": list(held.saved_by),
            }
            for held in peak.lines
        ],
    }


def describe_batch(batch: LargestBatch | None) -> dict[str, Any] | None:
    """Return a largest batch as plain values."""
    if batch is None:
        return None
    return {
        "letter": batch.letter,
        "size": batch.size,
        "exact": batch.is_exact,
        "tried": {str(size): reserved for size, reserved in batch.tried.items()},
    }


def _describe_flops(flops: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Return the FLOPs of each module by phase."""
    modules: dict[str, dict[str, Any]] = {}
    for (phase, module), count in flops.items():
        modules.setdefault(module, {"module": module, "flops": {}})["flops"][phase] = (
            count
        )
    return list(modules.values())


def _describe_change(row: RehearsedChange) -> dict[str, Any]:
    return {
        "change": row.change,
        "edits": list(row.edits),
        "tensors": row.bytes,
        "reserved": row.reserved,
        "total": None if row.total is None else describe_total(row.total),
        "verdict": row.verdict,
        "saved": row.saved,
        "flops": row.flops,
        "error": row.error,
    }


def _list_events(events: Iterable[Event]) -> list[list[Any]]:
    return [[e.action, e.storage, e.bytes, e.step, e.phase] for e in events]


def _format_gib(count: int) -> str:
    """Return bytes with a unit: ``1.5 GiB``, ``12.0 MiB``."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):,.1f} {unit}"
    return f"{count} B"
