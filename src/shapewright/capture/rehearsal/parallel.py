"""Wrappers that train on many devices at once, on the one of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.capture import nests
from shapewright.capture.rehearsal.machine import index_of
from shapewright.capture.rehearsal.replicas import replicas_stood_for
from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


@contextmanager
def parallel_stood_for(stage: Stage) -> Iterator[None]:
    """`DistributedDataParallel` is one rank, `DataParallel` all its devices."""
    with ExitStack() as stack:
        for owner in (nn.parallel, nn.parallel.distributed):
            name = "DistributedDataParallel"
            stack.enter_context(replaced(owner, name, lambda _: Distributed))
        stack.enter_context(replicas_stood_for(stage))
        yield


class Distributed(nn.Module):
    """`DistributedDataParallel`: the module itself, under `module.`."""

    def __init__(
        self, module: nn.Module, device_ids: Any = None, output_device: Any = None,
        dim: int = 0, *args: Any, process_group: Any = None, device_mesh: Any = None,
        find_unused_parameters: bool = False, static_graph: bool = False, **named: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if process_group is None and device_mesh is None:
            process_group = torch.distributed.distributed_c10d._get_default_group()
        elif process_group is None:
            process_group = device_mesh.get_group(mesh_dim=0)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        kept = [p for n, p in module.named_parameters() if n not in ignored]
        if not any(each.requires_grad for each in kept):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any "
                "parameter that requires a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {each.device for each in kept}
        kinds = {each.type for each in devices}
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
        self.device_ids = [index_of(each) for each in device_ids or ()] or None
        self.output_device = output_device
        self.process_group, self.dim = process_group, dim
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.device_ids:
            there = f"{self.device_type}:{self.device_ids[0]}"
            args, kwargs = nests.swap((args, kwargs), lambda each: each.to(there))
        return self.module(*args, **kwargs)

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
        """Gradients are not sent to anybody."""

    def _set_static_graph(self) -> None:
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {}


Distributed.__name__ = Distributed.__qualname__ = "DistributedDataParallel"
