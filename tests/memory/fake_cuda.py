"""Steps on torch's fake CUDA tensors, as an oracle for what a GPU's build does.

A process of its own: `python -m memory.fake_cuda` prints a line of JSON for each run.
`FakeTensorMode` gives tensors a device `cuda` without data, so that torch's own
dispatch decides: autocast by its own kernels, dropout, foreach. A build without CUDA
refuses in two places, which are changed here by address, in this process only: the
device guard, and the hooks that say whether CUDA is there. The layout of both is
private, so whatever fails here says nothing about us.
"""

from __future__ import annotations

import ctypes
import json
import sys
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

from memory.test_fake_cuda import MODELS
from shapewright.engine.device_kernels import _build_gpu_attention
from shapewright.engine.private import count_storage_uses, count_uses, get_autograd_node

CUDA = 1
"""`c10::DeviceType::CUDA`."""

SLOTS = 64
"""Virtual functions of the hooks, more than there are."""

IS_BUILT, HAS_CONTEXT = 2, 4
"""Their places among the hooks' virtual functions."""

CAPABILITY = (8, 0)
kept: list[Any] = []


def find_library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))


def install_guard() -> None:
    """Let torch install its fake guard for CUDA, for which a guard must be there."""
    registry = (ctypes.c_void_p * 24).in_dll(
        find_library("libc10.so"), "_ZN3c104impl26device_guard_impl_registryE"
    )
    if not registry[CUDA]:
        zero = ctypes.CFUNCTYPE(ctypes.c_byte, ctypes.c_void_p)(lambda _: 0)
        address = ctypes.cast(zero, ctypes.c_void_p).value
        table = (ctypes.c_void_p * SLOTS)(*[address] * SLOTS)
        guard = (ctypes.c_void_p * 8)(ctypes.addressof(table))
        kept.extend([zero, table, guard])
        registry[CUDA] = ctypes.addressof(guard)
    torch._C._ensureCUDADeviceGuardSet()


@contextmanager
def claim_cuda() -> Iterator[None]:
    """Let autograd's engine take CUDA for the accelerator within the block."""
    get = find_library("libtorch_cpu.so")._ZN2at6detail12getCUDAHooksEv
    get.restype, get.argtypes = ctypes.c_void_p, []
    hooks = ctypes.c_void_p.from_address(get())
    before = hooks.value
    assert before is not None
    table = (ctypes.c_void_p * SLOTS)(*(ctypes.c_void_p * SLOTS).from_address(before))
    one = ctypes.CFUNCTYPE(ctypes.c_byte, ctypes.c_void_p)(lambda _: 1)
    none = ctypes.CFUNCTYPE(ctypes.c_byte, ctypes.c_void_p, ctypes.c_byte)(
        lambda _, __: 0
    )
    table[IS_BUILT] = ctypes.cast(one, ctypes.c_void_p).value
    table[HAS_CONTEXT] = ctypes.cast(none, ctypes.c_void_p).value
    kept.extend([table, one, none])
    hooks.value = ctypes.addressof(table)
    try:
        yield
    finally:
        hooks.value = before


class LiveBytes(TorchDispatchMode):
    """The bytes of all storages that live, in blocks of 512; the most in each phase."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, tuple[Any, int]] = {}
        self.total, self.phase = 0, "forward"
        self.peaks: dict[str, int] = {}

    def add(self, tensor: torch.Tensor) -> None:
        if tensor.device.type != "cuda":
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.live and self.live[key][0]() is not None:
            return
        size = -(-storage.nbytes() // 512) * 512

        def forget(reference: Any) -> None:
            if key in self.live and self.live[key][0] is reference:
                self.total -= self.live.pop(key)[1]

        self.live[key] = weakref.ref(storage, forget), size
        self.total += size
        self.peaks[self.phase] = max(self.peaks.get(self.phase, 0), self.total)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if (
            func is torch.ops.aten.add.Tensor
            and get_autograd_node() is not None
            and is_held_by_buffer(*args[:2])
        ):
            return args[0].add_(args[1])  # as autograd does without a mode
        output = func(*args, **(kwargs or {}))
        for item in tree_iter(output):
            if isinstance(item, torch.Tensor):
                self.add(item)
        return output


def is_held_by_buffer(first: Any, second: Any) -> bool:
    return (
        isinstance(second, torch.Tensor)
        and first.shape == second.shape
        and first.dtype == second.dtype
        and count_uses(first) <= 4
        and first.untyped_storage().nbytes() == first.numel() * first.itemsize
        and count_storage_uses(first) <= 2
    )


def move(model: nn.Module) -> None:
    """Replace the tensors of a model by fake ones on CUDA."""

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cuda"
        )

    moved: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None:
                new = moved.setdefault(id(parameter), nn.Parameter(copy(parameter)))
                module._parameters[name] = new
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[name] = copy(buffer)


def measure_steps(model: nn.Module, inputs: Any, autocast: bool) -> dict[str, int]:
    """Return the most bytes in each phase of the second step."""
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    live = LiveBytes()
    for tensor in (*model.parameters(), *model.buffers(), *inputs):
        live.add(tensor)
    for _ in range(2):
        live.peaks = {}
        with live:
            live.phase = "forward"
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                loss = compute_loss(model(*inputs))
            live.phase = "backward"
            loss.backward()
            live.phase = "optimizer step"
            optimizer.step()
            del loss
    return live.peaks


def compute_loss(output: torch.Tensor) -> torch.Tensor:
    return output.mean() if output.dim() else output


def register_absent_kernels(library: torch.library.Library) -> None:
    """Register kernels of CUDA whose place composites take in a build without it.

    `native_functions.yaml` has a kernel for CUDA of each, beside the composite.
    """

    def normalize(x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
        rows = [*x.shape[: -len(shape)], *[1] * len(shape)]
        dtype = torch.float32 if x.itemsize == 2 else x.dtype
        return torch.empty_like(x), torch.empty(rows, dtype=dtype, device=x.device)

    def normalize_backward(
        gradient: Any, x: Any, shape: Any, scale: Any, weight: Any, wanted: Any
    ) -> Any:
        pairs = zip((x, weight), wanted, strict=True)
        return tuple(torch.empty_like(t) if needed else None for t, needed in pairs)

    library.impl("silu_backward", lambda g, x: torch.empty_like(g), "CUDA")
    library.impl("_fused_rms_norm", normalize, "CUDA")
    library.impl("_fused_rms_norm_backward", normalize_backward, "CUDA")


def main() -> None:
    common: Any = torch.cuda.amp.common
    common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_, **__: True  # type: ignore[assignment]
    library = torch.library.Library("aten", "IMPL")
    library.impl(
        "scaled_dot_product_attention", _build_gpu_attention(CAPABILITY), "AutogradCUDA"
    )
    register_absent_kernels(library)
    with ExitStack() as stack:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        models = {name: family.build() for name, family in MODELS.items()}
        stack.enter_context(mode)
        install_guard()
        stack.enter_context(claim_cuda())
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        for name, family in MODELS.items():
            move(models[name])
            inputs = tree_map(
                lambda t: torch.empty(t.shape, dtype=t.dtype, device="cuda"),
                family.inputs,
            )
            for autocast in (False, True):
                run: dict[str, Any] = {"name": name, "autocast": autocast}
                try:
                    run["peaks"] = measure_steps(models[name], inputs, autocast)
                except Exception as error:  # it is part of the answer
                    run["error"] = f"{type(error).__name__}: {error}"[:300]
                for parameter in models[name].parameters():
                    parameter.grad = None
                print(json.dumps(run), flush=True)


if __name__ == "__main__":
    sys.exit(main())
