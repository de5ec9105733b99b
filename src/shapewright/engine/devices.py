"""Claimed devices of tensors, generators and defaults, and the errors of a real GPU.

Devices are claimed, not used. torch creates a generator only on a device that exists;
ours draws on the CPU, like all draws of a run, and claims to be on another device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _device

from shapewright.engine.identity import Info, Meta
from shapewright.engine.replacement import copy_attributes, replace_attribute
from shapewright.findings.codes import MISSING_DEVICE, MIXED_DEVICES
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Kwargs = dict[str, Any]
SAYINGS = {
    "cuda": "Torch not compiled with CUDA enabled",
    "mps": "PyTorch is not linked with support for mps devices",
    "xpu": "Torch not compiled with XPU enabled",
}
"""torch's error messages for devices that do not exist."""

FREE_OF_DEVICES = operators_with("mixes_devices")
TAKES_INDICES = operators_with("takes_cpu_indices")
TAKES_SIZES = operators_with("takes_sizes_on_cpu")


def normalize_device(device: Any, home: str = "cpu") -> str:
    """Return the name of a device as it is recorded: `cpu`, `cuda:0`."""
    if device is None:
        return home
    if isinstance(device, int):
        return f"cuda:{device}"
    text = str(device)
    return f"{text}:0" if text in ("cuda", "xpu", "mps", "npu", "hpu") else text


def resolve_device(engine: Engine, device: Any) -> str:
    """Return the name of a requested device after checking that the machine has it."""
    name = normalize_device(device)
    kind = name.partition(":")[0]
    if engine.machine is not None and kind in SAYINGS and kind != engine.machine:
        return _report_missing_device(engine, kind)
    if engine.gpus is None or not name.startswith("cuda:"):
        return name
    if str(device) == "cuda":
        return f"cuda:{engine.gpu}"
    if int(name[5:]) >= engine.gpus:
        engine.raise_theirs(make_gpu_error())
    return name


def _report_missing_device(engine: Engine, kind: str) -> str:
    """Report a missing device once and return the home device in its place."""
    message = f"the program asks for `{kind}`, which the rehearsed machine does not"
    message += " have"
    if kind in ("cuda", "mps"):
        message += f"; `--device {kind}`, in front of the file, rehearses one that does"
    engine.find(
        MISSING_DEVICE,
        message,
        SAYINGS[kind],
        once=True,
    )
    return engine.home


def make_gpu_error() -> RuntimeError:
    """Return torch's error for a GPU index that the machine does not have."""
    kind: type[RuntimeError] = getattr(torch, "AcceleratorError", RuntimeError)
    return kind("CUDA error: invalid device ordinal")


def find_claimed_device(engine: Engine, infos: list[Info], kwargs: Kwargs) -> str:
    """Return the device of a result: the requested device, else that of the inputs."""
    if kwargs.get("device") is not None:
        return resolve_device(engine, kwargs["device"])
    claim = None
    for info in infos:
        device = info.meta.device
        if device == "meta":  # whatever the other inputs are: the result has no data
            return device
        if claim is None or (device != claim and info.meta.shape):
            claim = device if claim in (None, "cpu") else claim
    return claim or engine.home


def check_devices(engine: Engine, name: str, infos: list[Info]) -> bool:
    """Report a call on tensors of two claimed devices, which fails on a real GPU."""
    if name in TAKES_INDICES:
        infos = infos[:1] + infos[1:][-1:]  # what is written to, and what is written
    if name in TAKES_SIZES:
        infos = [info for info in infos if not _is_sizes(info.meta)]
    first = infos[0].meta.device if infos else ""
    if all([info.meta.device == first for info in infos]):  # noqa: C419
        return False
    claimed = [i.meta.device for i in infos if i.meta.shape and i.meta.device != "meta"]
    devices = list(dict.fromkeys(claimed))
    if not all(info.meta.shape for info in infos):
        scalars = [i.meta.device for i in infos if not i.meta.shape]
        devices += [d for d in scalars if d not in ("cpu", "meta", *devices)]
    if len(devices) < 2:
        return False
    if name in ("__getitem__", "index") and devices[0] == "cpu":
        engine.find(
            MIXED_DEVICES,
            f"a tensor on `cpu` is indexed by one on `{devices[1]}`",
            "indices should be either on cpu or on the same device as the indexed "
            "tensor (cpu)",
        )
        return True
    if name not in FREE_OF_DEVICES:
        engine.find(
            MIXED_DEVICES,
            f"`{name}` gets tensors on {' and '.join(f'`{d}`' for d in devices)}",
            "Expected all tensors to be on the same device, but found at least two "
            f"devices, {devices[0]} and {devices[1]}!",
        )
    return name not in FREE_OF_DEVICES


def _is_sizes(meta: Meta) -> bool:
    """Return whether a tensor holds the batch sizes of packed steps."""
    return meta.dtype == "int64" and meta.device == "cpu" and len(meta.shape) == 1


@contextmanager
def claim_default_device(engine: Engine) -> Iterator[None]:
    """Make `with torch.device("cuda"):` affect only the calls of the program.

    Its mode may be below ours (`set_default_device` puts it at the bottom of the
    stack), where it would also add the device to our own calls of torch.
    """
    kind: Any = _device.DeviceContext
    original = kind.__torch_function__
    for mode in torch.overrides._get_current_function_mode_stack():
        if isinstance(mode, kind):
            engine.make_on(normalize_device(mode.device))

    def aside(
        self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        modes = torch.overrides._get_current_function_mode_stack()
        if get_ident() in engine.threads and engine not in modes:
            return func(*args, **(kwargs or {}))
        return original(self, func, types, args, kwargs)

    kind.__torch_function__ = copy_attributes(aside, original)
    try:
        yield
    finally:
        kind.__torch_function__ = original


_GENERATOR: Any = torch.Generator


class _AsGenerator(type(_GENERATOR)):  # type: ignore[misc]
    """Makes `isinstance(x, torch.Generator)` true for generators of before the run."""

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(_GENERATOR, value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(_GENERATOR, kind)


@contextmanager
def claim_generators(engine: Engine) -> Iterator[None]:
    """Let generators claim to be on a GPU during a run."""
    original: Any = torch.Generator

    class Generator(original, metaclass=_AsGenerator):  # type: ignore[misc]
        claimed = "cpu"

        def __new__(cls, device: Any = "cpu") -> Any:
            if get_ident() not in engine.threads:
                return original(device)
            claimed = resolve_device(engine, device)
            if claimed == "cpu":
                return original()
            generator = super().__new__(cls)
            generator.claimed = claimed
            return generator

        def __init__(self, device: Any = "cpu") -> None:
            pass

        @property
        def device(self) -> torch.device:
            return torch.device(self.claimed)

        def clone_state(self) -> Any:
            copy = type(self)(self.claimed)
            copy.set_state(self.get_state())
            return copy

    with replace_attribute(torch, "Generator", lambda _: Generator):
        yield


def check_generator_device(engine: Engine, generator: Any, device: str) -> None:
    """Raise torch's error if a generator is not on the device of the drawn tensor."""
    kind, asked = generator.device.type, device.partition(":")[0]
    if kind != asked and asked != "meta":
        engine.raise_theirs(
            RuntimeError(
                f"Expected a '{asked}' device type for generator but found '{kind}'"
            )
        )
