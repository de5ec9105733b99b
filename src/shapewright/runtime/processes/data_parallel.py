"""Run wrappers that train on many devices at once on the device of this process."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine import nests
from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.claimed_machine import get_device_index
from shapewright.runtime.processes.gradient_reduction import Reduction

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import Bucket, RehearsalState


@contextmanager
def _replace_transfers(stage: RehearsalState) -> Iterator[None]:
    """Replace torch's transfers between devices by calls on tensors without data."""
    parallel: Any = nn.parallel
    module = sys.modules["torch.nn.parallel.data_parallel"]  # a function has its name
    places = (
        (parallel.scatter_gather, "Scatter", _Scatter),
        (parallel.scatter_gather, "Gather", _Gather),
        (parallel._functions, "Broadcast", _Broadcast),
        (parallel.comm, "broadcast_coalesced", _broadcast_coalesced),
        (module, "parallel_apply", _call_replicas),
    )
    with ExitStack() as stack:
        stack.enter_context(
            replace_attribute(module, "replicate", partial(_name_replicas, stage))
        )
        for owner, name, value in places:
            if name in vars(owner):
                stack.enter_context(
                    replace_attribute(owner, name, partial(_return_replacement, value))
                )
        yield


def _return_replacement(value: Any, original: Any) -> Any:
    """Return the replacement, ignoring the original."""
    return value


def _name_replicas(stage: RehearsalState, original: Any) -> Any:
    """Wrap `replicate` so that replicas get the paths of the modules that they copy."""

    def replicate(network: Any, *args: Any, **kwargs: Any) -> Any:
        replicas = original(network, *args, **kwargs)
        calls = stage.calls
        calls.path_of(network)
        for replica in replicas:
            for module, copy in zip(network.modules(), replica.modules(), strict=False):
                calls.paths[id(copy)] = calls.path_of(module)
                calls.alive[id(copy)] = copy
        return replicas

    return replicate


def _normalize_device(device: Any) -> Any:
    """Return a device in a form that `Tensor.to` accepts."""
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return device


class _Scatter:
    """A stand-in for torch's `Scatter`, which splits a tensor across devices."""

    @staticmethod
    def apply(devices: Sequence[Any], sizes: Any, dim: int, tensor: Any) -> Any:
        parts = (
            tensor.chunk(len(devices), dim)
            if sizes is None
            else tensor.split(sizes, dim)
        )
        return tuple(
            part.to(_normalize_device(device))
            for part, device in zip(parts, devices, strict=False)
        )


class _Gather:
    """A stand-in for torch's `Gather`, which concatenates parts on one device."""

    @staticmethod
    def apply(device: Any, dim: int, *parts: Any) -> Any:
        if dim == 0 and all(part.dim() == 0 for part in parts):
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were "
                "scalars; will instead unsqueeze and return a vector.",
                stacklevel=2,
            )
            parts = tuple(part.view(1) for part in parts)
        return torch.cat([part.to(_normalize_device(device)) for part in parts], dim)


class _Broadcast:
    """A stand-in for torch's `Broadcast`, which copies tensors to each device."""

    @staticmethod
    def apply(devices: Sequence[Any], *tensors: Any) -> Any:
        return tuple(
            tensor.view_as(tensor) if at == 0 else tensor.to(_normalize_device(device))
            for at, device in enumerate(devices)
            for tensor in tensors
        )


def _broadcast_coalesced(tensors: Any, devices: Any, *args: Any) -> list[list[Any]]:
    """Copy tensors to each device without gradients; the first keeps the originals."""
    return [
        [
            tensor if at == 0 else tensor.detach().to(_normalize_device(device))
            for tensor in tensors
        ]
        for at, device in enumerate(devices)
    ]


def _call_replicas(
    modules: Sequence[Any], inputs: Sequence[Any], kwargs: Any = None, *devices: Any
) -> list[Any]:
    """Call each replica with its part of the inputs."""
    named_too = kwargs or [{} for _ in modules]
    return [
        module(*(part if isinstance(part, tuple | list) else (part,)), **more)
        for module, part, more in zip(modules, inputs, named_too, strict=True)
    ]


@contextmanager
def replace_data_parallel(stage: RehearsalState) -> Iterator[None]:
    """Run `DistributedDataParallel` as one rank and `DataParallel` on all devices."""
    name = "DistributedDataParallel"
    original = nn.parallel.DistributedDataParallel

    def change(module: ModuleType, stack: ExitStack) -> None:
        stack.callback(setattr, module, name, original)
        setattr(module, name, _Distributed)

    with ExitStack() as stack:
        composable = "torch.distributed._composable.replicate"  # has the name as well
        stack.enter_context(change_when_imported(composable, change))
        for owner in (nn.parallel, nn.parallel.distributed):
            stack.enter_context(replace_attribute(owner, name, lambda _: _Distributed))
        stack.callback(setattr, _Distributed, "_run", _Distributed._run)
        _Distributed._run = stage, stack
        stack.enter_context(_replace_transfers(stage))
        yield


FIRST_BUCKET = 1 << 20
"""Bytes of the first bucket: `_DEFAULT_FIRST_BUCKET_BYTES` of torch.distributed."""

MOST_BUCKET = 25
"""MiB of the others, without `bucket_cap_mb`."""


def _list_buckets(parameters: Sequence[Any], most: float) -> list[Bucket]:
    """Return the buckets in which gradients are sent, those of the last layers first.

    As `compute_bucket_assignment_by_size` in torch's reducer.cpp: a bucket is full with
    the parameter that reaches its size, and has one dtype.
    """
    buckets: list[Bucket] = []
    filling: dict[tuple[Any, str], int] = {}
    limits: dict[tuple[Any, str], float] = {}
    for parameter in reversed(parameters):
        key = parameter.dtype, str(parameter.device)
        filling[key] = filling.get(key, 0) + parameter.numel()
        if filling[key] * parameter.element_size() >= limits.get(key, FIRST_BUCKET):
            buckets.append((filling.pop(key), *key))
            limits[key] = most * (1 << 20)
    return buckets + [(count, *key) for key, count in filling.items()]


class _Distributed(nn.Module):
    """A stand-in for `DistributedDataParallel` that calls the module itself."""

    _run: tuple[RehearsalState, ExitStack] | None = None  # and what ends with it

    def __init__(
        self, module: nn.Module, device_ids: Any = None, output_device: Any = None,
        dim: int = 0, *args: Any, process_group: Any = None, device_mesh: Any = None,
        find_unused_parameters: bool = False, static_graph: bool = False,
        bucket_cap_mb: float | None = None, gradient_as_bucket_view: bool = False,
        **named: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if process_group is None and device_mesh is None:
            process_group = torch.distributed.distributed_c10d._get_default_group()
        elif process_group is None:
            process_group = device_mesh.get_group(mesh_dim=0)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        kept = {n: p for n, p in module.named_parameters() if n not in ignored}
        if not any(parameter.requires_grad for parameter in kept.values()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any "
                "parameter that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {parameter.device for parameter in kept.values()}
        kinds = {device.type for device in devices}
        if len(kinds) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of "
                f"devices, but input module parameters locate in {kinds}."
            )
        self.device_type = next(iter(kinds))
        if device_ids and (self.device_type == "cpu" or len(devices) > 1):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only "
                "work with single-device/multiple-device GPU modules or CPU modules, "
                f"but got device_ids {device_ids}, output_device {output_device}, and "
                f"module parameters {devices}."
            )
        self.module = module
        self.device = next(iter(devices))
        self.device_ids = [
            get_device_index(device_id) for device_id in device_ids or ()
        ] or None
        self.output_device = output_device
        self.process_group, self.dim = process_group, dim
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._buckets: list[Any] = []
        self._reduction: Reduction | None = None
        trained = {n: p for n, p in kept.items() if p.requires_grad}
        if self._run is not None:
            stage, end = self._run
            if stage.memory is not None and not gradient_as_bucket_view:
                most = MOST_BUCKET if bucket_cap_mb is None else bucket_cap_mb
                buckets = _list_buckets([*trained.values()], most)
                self._buckets = stage.memory.hold_buckets(buckets)
            if find_unused_parameters:
                stage.facts.allow_unused(trained.values())
            else:
                rank = torch.distributed.get_rank()
                self._reduction = Reduction(stage.engine, rank, trained, end)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._pre_forward(*args, **kwargs)
        return self._post_forward(self.module(*args, **kwargs))

    def _pre_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Move the inputs to the device; `replicate` calls it, too."""
        if self._reduction is not None and not self.static_graph:
            self._reduction.begin_call()
        if self.device_ids:
            there = f"{self.device_type}:{self.device_ids[0]}"
            args, kwargs = nests.swap_tensors(
                (args, kwargs), lambda tensor: tensor.to(there)
            )
        return args, kwargs

    def _post_forward(self, output: Any) -> Any:
        """Return the output, whose gradients are awaited; `replicate` calls it, too."""
        awaits = self.require_backward_grad_sync and not self.static_graph
        if self._reduction is not None and awaits:
            self._reduction.end_call()
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, *args: Any, **kwargs: Any) -> Any:
        return nullcontext()

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Ignore a hook, since gradients are not sent to other ranks."""

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {}


_Distributed.__name__ = _Distributed.__qualname__ = "DistributedDataParallel"
