"""Collectives of a process group of which this is one rank: shapes and results.

The other ranks are assumed to hold the same: a gathered list has as many copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from shapewright.findings.codes import COLLECTIVE_MISMATCH
from shapewright.runtime.loops.items import format_shape

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState

Tensor = torch.Tensor
Base: Any = getattr(torch.distributed, "ProcessGroup", object)


class Done:
    """The work handle of a collective that finishes at once."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    is_success = is_completed

    def exception(self) -> None:
        return None

    def result(self) -> Any:
        return self._result

    def synchronize(self) -> None:
        """Do nothing, since nothing is pending."""

    block_current_stream = synchronize

    def get_future(self) -> Any:
        """Return a future that already holds the result."""
        future: Any = torch.futures.Future()
        future.set_result(self._result)
        return future


class Ranks(Base):  # type: ignore[misc]
    """A process group in which only this rank runs; torch's own functions call it."""

    def __init__(
        self, rank: int, size: int, name: str, backend: str, stage: RehearsalState
    ) -> None:
        super().__init__(rank, size)
        self.at, self.count, self.name = rank, size, name
        self.backend, self.stage = backend, stage

    def size(self) -> int:
        return self.count

    def rank(self) -> int:
        return self.at

    @property
    def group_name(self) -> str:
        return self.name

    @property
    def bound_device_id(self) -> None:
        return None

    def getBackendName(self) -> str:
        return self.backend

    def shutdown(self) -> None:
        """Do nothing, since no connection is open."""

    abort = shutdown

    def _start_coalescing(self, device: Any) -> None:
        """Do nothing, since each collective finishes at once."""

    def _end_coalescing(self, device: Any) -> Done:
        return Done()

    def allreduce(self, tensors: Sequence[Tensor], opts: Any = None) -> Done:
        for tensor in tensors:
            if self.can_reach("all_reduce", tensor):
                self.sum_up(tensor, opts)
        return Done(list(tensors))

    allreduce_coalesced = allreduce

    def reduce(self, tensors: Sequence[Tensor], opts: Any = None) -> Done:
        for tensor in tensors:
            if self.can_reach("reduce", tensor) and opts.rootRank == self.at:
                self.sum_up(tensor, opts)
        return Done(list(tensors))

    def broadcast(self, tensors: Sequence[Tensor], opts: Any = None) -> Done:
        for tensor in tensors:
            self.can_reach("broadcast", tensor)
        return Done(list(tensors))

    def allgather(
        self, outputs: Sequence[list[Tensor]], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        for into, tensor in zip(outputs, inputs, strict=True):
            self.spread("all_gather", into, tensor)
        return Done(outputs)

    def allgather_coalesced(
        self, outputs: Sequence[list[Tensor]], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        for into in outputs:
            for output, tensor in zip(into, inputs, strict=True):
                self.copied("all_gather_coalesced", output, tensor)
        return Done(outputs)

    def all_gather_single(
        self, output: Tensor, tensor: Tensor, opts: Any = None
    ) -> Done:
        name = "all_gather_into_tensor"
        if self.can_reach(name, tensor, output):
            whole, part = _get_shape(self, output), _get_shape(self, tensor)
            asked = (self.count * part[0], *part[1:]) if part else (self.count,)
            stacked = (self.count, *part)
            same = whole == asked or (not self.is_strict(output) and whole == stacked)
            if not same and (
                self.is_strict(output)
                or _count_elements(whole) != _count_elements(asked)
            ):
                self.refuse(
                    f"`{name}` needs an output of {format_shape(asked)} for "
                    f"{_format_ranks(self)} with {format_shape(part)} each, got "
                    f"{format_shape(whole)}",
                    _format_gloo_error("allgather", part, whole)
                    if self.is_strict(output)
                    else "output tensor size must be equal to world_size times input "
                    "tensor size",
                )
            elif self.is_of(name, tensor, output):
                with torch.no_grad():
                    parts = output.view(self.count, -1).unbind()
                    for output_part in parts:
                        output_part.copy_(tensor.reshape(-1))
        return Done([output])

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        for output, tensor in zip(outputs, inputs, strict=True):
            self.all_gather_single(output, tensor)
        return Done(outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(
        self, outputs: Sequence[list[Tensor]], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        for into, tensor in zip(outputs, inputs, strict=False):
            self.spread("gather", into, tensor)
        return Done(outputs)

    def scatter(
        self, outputs: list[Tensor], inputs: Sequence[list[Tensor]], opts: Any = None
    ) -> Done:
        for output, parts in zip(outputs, inputs, strict=False):
            if self.has_one_each("scatter", parts):
                self.copied("scatter", output, parts[self.at])
        return Done(outputs)

    def reduce_scatter(
        self, outputs: list[Tensor], inputs: Sequence[list[Tensor]], opts: Any = None
    ) -> Done:
        for output, parts in zip(outputs, inputs, strict=True):
            if self.has_one_each("reduce_scatter", parts):
                self.copied("reduce_scatter", output, parts[self.at])
                self.sum_up(output, opts)
        return Done(outputs)

    def reduce_scatter_single(
        self, output: Tensor, tensor: Tensor, opts: Any = None
    ) -> Done:
        name = "reduce_scatter_tensor"
        if self.can_reach(name, tensor, output):
            whole, part = _get_shape(self, tensor), _get_shape(self, output)
            if _count_elements(whole) != self.count * _count_elements(part):
                self.refuse(
                    f"`{name}` needs an input with the elements of "
                    f"{_format_ranks(self)} with {format_shape(part)} each, got "
                    f"{format_shape(whole)}",
                    "input tensor must be the same size as output size times world "
                    "size",
                )
            elif self.is_of(name, tensor, output):
                with torch.no_grad():
                    mine = tensor.reshape(self.count, -1)[self.at]
                    output.copy_(mine.reshape(part))
                self.sum_up(output, opts)
        return Done([output])

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        for output, tensor in zip(outputs, inputs, strict=True):
            self.reduce_scatter_single(output, tensor, opts)
        return Done(outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def alltoall(
        self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None
    ) -> Done:
        name = "all_to_all"
        if self.has_one_each(name, inputs) and self.has_one_each(name, outputs):
            for output in outputs:
                self.copied(name, output, inputs[self.at])
        return Done(outputs)

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, into: Any, parts: Any, opts: Any = None
    ) -> Done:
        name = "all_to_all_single"
        if not self.can_reach(name, tensor, output):
            return Done([output])
        for side, sizes in ((output, into), (tensor, parts)):
            rows = _get_shape(self, side)[0]
            fits = sum(sizes) == rows if sizes else rows % self.count == 0
            if not fits:
                division = f"splits {list(sizes)}" if sizes else _format_ranks(self)
                self.refuse(
                    f"`{name}` cannot divide {format_shape(_get_shape(self, side))} "
                    f"among {division}",
                    "Split sizes doesn't match total dim 0 size",
                )
                return Done([output])
        whole, taken = _get_shape(self, output), _get_shape(self, tensor)
        if not into and not parts and _count_elements(whole) != _count_elements(taken):
            self.refuse(
                f"`{name}` gives as much as it takes: {format_shape(taken)} into "
                f"{format_shape(whole)}"
            )
        elif self.is_of(name, tensor, output) and not into and not parts:
            with torch.no_grad():
                mine = tensor.reshape(self.count, -1)[self.at]
                for side in output.view(self.count, -1).unbind():
                    side.copy_(mine)
        return Done([output])

    alltoall_base = all_to_all_single

    def barrier(self, opts: Any = None) -> Done:
        return Done()

    def send(self, tensors: list[Tensor], rank: int, tag: int = 0) -> Done:
        self.can_reach("send", *tensors)
        return Done()

    def recv(self, tensors: list[Tensor], rank: int, tag: int = 0) -> Done:
        self.can_reach("recv", *tensors)
        return Done(tensors)

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Done:
        return self.recv(tensors, 0, tag)

    def spread(self, name: str, into: list[Tensor], tensor: Tensor) -> None:
        """Copy a tensor to each tensor of a list with one tensor per rank."""
        if self.can_reach(name, tensor) and self.has_one_each(name, into):
            for output in into:
                self.copied(name, output, tensor)

    def copied(self, name: str, output: Tensor, tensor: Tensor) -> None:
        """Copy a tensor to an output, or report a wrong shape, dtype or device."""
        whole, part = _get_shape(self, output), _get_shape(self, tensor)
        strict = self.is_strict(output)
        same = (
            whole == part if strict else _count_elements(whole) == _count_elements(part)
        )
        if not self.can_reach(name, output):
            return
        if not same:
            self.refuse(
                f"`{name}` needs tensors of one shape, got {format_shape(part)} and "
                f"{format_shape(whole)}",
                _format_gloo_error(name.replace("_", ""), part, whole)
                if strict
                else "",
            )
        elif self.is_of(name, tensor, output):
            with torch.no_grad():
                output.copy_(tensor.reshape(whole))

    def has_one_each(self, name: str, tensors: Sequence[Tensor]) -> bool:
        """Check that a list has one tensor per rank, and report it otherwise."""
        if len(tensors) == self.count:
            return True
        words = f"{len(tensors)} tensor{'s' * (len(tensors) != 1)}"
        self.refuse(
            f"`{name}` needs a tensor for each of {_format_ranks(self)}, got {words}"
        )
        return False

    def can_reach(self, name: str, *tensors: Tensor) -> bool:
        """Check that the backend accepts the tensors' devices; report a mismatch."""
        engine = self.stage.engine
        for tensor in tensors:
            if not engine.known(tensor):
                continue  # made by torch in a backward pass: it claims nothing
            device = engine.info(tensor).meta.device
            if self.backend == "nccl" and device == "cpu" and self.stage.has_gpu:
                self.refuse(
                    f"`{name}` gets a tensor on `cpu`: `nccl` takes those on a GPU",
                    "No backend type associated with device type cpu",
                )
                return False
        return True

    def is_of(self, name: str, tensor: Tensor, output: Tensor) -> bool:
        """Check that both tensors have the same dtype, and report it otherwise."""
        dtype, output_dtype = tensor.dtype, output.dtype
        if dtype == output_dtype:
            return True
        self.refuse(
            f"`{name}` needs tensors of one dtype, got {dtype} and {output_dtype}"
        )
        return False

    def is_strict(self, tensor: Tensor) -> bool:
        """Return whether shapes must be equal, not only element counts, as for gloo."""
        if self.backend in ("gloo", "nccl"):
            return self.backend == "gloo"
        return str(self.stage.engine.info(tensor).meta.device) == "cpu"

    def refuse(self, message: str, torch_message: str = "") -> None:
        """Report a collective that would fail in a real run; this run continues."""
        self.stage.engine.find(COLLECTIVE_MISMATCH, message, torch_message)

    def sum_up(self, tensor: Tensor, opts: Any) -> None:
        """Multiply known values by the number of ranks, for a sum over equal ranks."""
        engine = self.stage.engine
        if self.count == 1 or not engine.known(tensor):  # one of a backward pass
            return
        if not engine.info(tensor).storage.known:
            return
        if opts is None or opts.reduceOp == torch.distributed.ReduceOp.SUM:
            with torch.no_grad():
                tensor.mul_(self.count)


def _get_shape(group: Ranks, tensor: Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor without recording a call."""
    shape: tuple[int, ...] = group.stage.engine.info(tensor).meta.shape
    return shape


def _count_elements(sizes: tuple[int, ...]) -> int:
    """Return the number of elements of a tensor with these sizes."""
    count = 1
    for size in sizes:
        count *= size
    return count


def _format_ranks(group: Ranks) -> str:
    """Return the number of ranks as text, like `2 ranks`."""
    return f"{group.count} rank{'s' * (group.count != 1)}"


def _format_gloo_error(name: str, asked: tuple[int, ...], got: tuple[int, ...]) -> str:
    """Return the error message of gloo for a tensor of the wrong shape."""
    asked_text, got_text = (f"({', '.join(map(str, shape))})" for shape in (asked, got))
    return (
        f"ProcessGroupGloo::{name}: invalid tensor size at index 0 (expected"
        f" {asked_text}, got {got_text})"
    )
