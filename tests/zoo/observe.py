"""What one call does to metadata: run it, and write down what came out.

The same call is observed on real CPU tensors, on bare meta tensors and through a trace;
two observations are then compared field by field.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


@dataclass(frozen=True, slots=True)
class Seen:
    """Metadata of one output. `alias` is the position of the input it shares with."""

    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None
    alias: int | None = None
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """Either outputs or an error, by the name of its class and its text.

    `container` is the class of the whole output (`Tensor`, `topk`, `tuple`). `unsure`
    means that whoever was asked said that it does not know, or supposed something
    about values.
    """

    outputs: tuple[Seen, ...] = ()
    container: str = ""
    error: str = ""
    message: str = ""
    unsure: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class TooSlow(Exception):
    """The time limit of one sample ran out."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in the block after so many seconds (main thread only)."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tensors(nest: Any) -> list[torch.Tensor]:
    """The tensors in a nest, in order."""
    return [x for x in tree_flatten(nest)[0] if isinstance(x, torch.Tensor)]


def storage_key(tensor: torch.Tensor) -> int | None:
    """Identity of the memory that `tensor` looks at, None where it has none."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return None
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


def stride_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Strides, None where the layout has none."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return None
    return tuple(tensor.stride())


def see(tensor: torch.Tensor, inputs: list[int | None]) -> Seen:
    """Metadata of an output; `inputs` are the storage keys of the call's tensors."""
    key = storage_key(tensor)
    alias = inputs.index(key) if key is not None and key in inputs else None
    shape = (-1,) if tensor.is_nested else tuple(tensor.shape)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Seen(shape, dtype, stride_of(tensor), alias)


def observe(call: Callable[..., Any], args: Any, kwargs: Any) -> Observation:
    """Run `call` and say what came out, or which error."""
    keys = [storage_key(tensor) for tensor in tensors((args, kwargs))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = call(*args, **kwargs)
        made = tuple(see(out, keys) for out in tensors(output))
        return Observation(made, type(output).__name__)
    except (Exception, TooSlow) as error:
        return Observation(error=type(error).__name__, message=str(error)[:300])


@dataclass(slots=True)
class Twins:
    """Meta twins of CPU tensors: same strides, offsets and shared storages."""

    bases: dict[tuple[int, torch.dtype], torch.Tensor] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        """The twin of a tensor; a CPU device becomes meta; else the value itself."""
        if isinstance(value, torch.device):
            return torch.device("meta")
        if not isinstance(value, torch.Tensor):
            return value
        if storage_key(value) is None or value.is_conj() or value.is_neg():
            return value.to("meta")
        return self._strided(value)

    def _strided(self, value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        key = (int(storage._cdata), value.dtype)
        if key not in self.bases:
            count = storage.nbytes() // value.element_size()
            self.bases[key] = torch.empty(count, dtype=value.dtype, device="meta")
        offset = value.storage_offset()
        return self.bases[key].as_strided(value.shape, value.stride(), offset)


def on_meta(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments with their tensors replaced by meta twins, device arguments too."""
    twins = Twins()
    args, kwargs = tree_map(twins.of, (args, kwargs))
    kwargs = {
        name: torch.device("meta") if name == "device" else value
        for name, value in kwargs.items()
    }
    return args, kwargs


FIELDS = ("shape", "dtype", "stride", "alias")


def differences(ours: Observation, real: Observation) -> list[str]:
    """Where `ours` differs from `real`, by the name of what differs.

    `accepts-error`: real raises, ours does not. `refuses-valid`, `missing` (no meta
    kernel) and `needs-data` (stopped where a value was read): the other way round.
    """
    if real.error and ours.error:
        return []
    if real.error:
        return ["accepts-error"]
    if ours.error:
        return [refusal(ours)]
    if len(ours.outputs) != len(real.outputs):
        return ["count"]
    if ours.container != real.container:
        return ["container"]
    pairs = list(zip(ours.outputs, real.outputs, strict=True))
    return [
        name
        for name in FIELDS
        if any(getattr(a, name) != getattr(b, name) for a, b in pairs)
    ]


NEEDS_DATA = (
    "_local_scalar_dense",
    "aten::nonzero",
    "aten::equal",
    "cannot be called on meta tensors",
    "data-dependent",
    "Cannot copy out of meta tensor",
    "aten::masked_select",
    "aten::_unique",
    "aten::unique",
    "aten::bincount",
    "values that are not known",
)
MISSING = ("no fake impl or Meta kernel", "SparseCsrMeta", "'Meta' backend")


def refusal(observation: Observation) -> str:
    """Which kind of refusal an error on a valid call is."""
    if any(text in observation.message for text in NEEDS_DATA):
        return "needs-data"
    if any(text in observation.message for text in MISSING):
        return "missing"
    if observation.error == "NotImplementedError":
        return "missing"
    return "refuses-valid"
