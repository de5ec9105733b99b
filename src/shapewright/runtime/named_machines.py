"""Devices by their names: `H100 80GB`, `2x RTX 4090`, or a file that describes one."""

from __future__ import annotations

import re
from difflib import get_close_matches

from shapewright.analysis.memory.device_memory import find_shared_memory
from shapewright.runtime.device_files import (
    ENDING,
    DeviceFileError,
    Gpu,
    read_device_file,
)

GIB = 1 << 30


GPUS: dict[str, Gpu] = {
    "h200": Gpu("NVIDIA H200", 141, (9, 0), 132),
    "h100": Gpu("NVIDIA H100", 80, (9, 0), 132),
    "a100": Gpu("NVIDIA A100", 40, (8, 0), 108),
    "l4": Gpu("NVIDIA L4", 24, (8, 9), 58),
    "l40s": Gpu("NVIDIA L40S", 48, (8, 9), 142),
    "t4": Gpu("Tesla T4", 16, (7, 5), 40),
    "v100": Gpu("Tesla V100", 16, (7, 0), 80),
    "gtx 1080 ti": Gpu("NVIDIA GeForce GTX 1080 Ti", 11, (6, 1), 28),
    "rtx 2080 ti": Gpu("NVIDIA GeForce RTX 2080 Ti", 11, (7, 5), 68),
    "rtx 3090": Gpu("NVIDIA GeForce RTX 3090", 24, (8, 6), 82),
    "rtx 4090": Gpu("NVIDIA GeForce RTX 4090", 24, (8, 9), 128),
    "rtx 5090": Gpu("NVIDIA GeForce RTX 5090", 32, (12, 0), 170),
}
"""The GPUs that `--device` knows, by their names there; from NVIDIA's data sheets."""

MACS = {
    "m1": 8, "m1 pro": 16, "m1 max": 32, "m1 ultra": 64,
    "m2": 8, "m2 pro": 16, "m2 max": 32, "m2 ultra": 64,
    "m3": 8, "m3 pro": 18, "m3 max": 36, "m3 ultra": 96,
    "m4": 16, "m4 pro": 24, "m4 max": 36,
}  # fmt: skip
"""The chips of Macs, with the gigabytes of the smallest machine; from Apple's technical
specifications."""

NAMED = re.compile(r"(?:(\d+) ?[x×*] ?)?(.*?)(?:[ -](\d+) ?gi?b)?", re.I)  # noqa: RUF001

MAKERS = re.compile(r"\b(nvidia|apple|tesla|geforce)[ -]", re.I)
BUILDS = re.compile(r"[ -](sxm\d?|pcie|hbm\d?e?)\b", re.I)
"""Words of the names that torch and `nvidia-smi` give: `NVIDIA A100-SXM4-80GB`."""


class UnknownDevice(ValueError):
    """Raised for a device name that is not known."""


class Machine:
    """Devices named by a text: `cpu`, `mps`, `cuda`, `H100 80GB`, `2x H100 80GB`, as
    torch names them (`NVIDIA A100-SXM4-80GB`), or by a file that describes a GPU,
    `b200.toml`.
    """

    def __init__(self, text: str) -> None:
        plain = text.strip()
        if not plain.lower().endswith(ENDING):
            plain = BUILDS.sub("", MAKERS.sub("", plain))
        match = NAMED.fullmatch(plain)
        number, named, memory = match.groups() if match else (None, text, None)
        name = named.lower().strip()
        self.kind = name if name in ("cpu", "mps") else "cuda"
        self.text = text
        gpu = GPUS["a100"] if name == "cuda" else GPUS.get(name)
        if name in MACS:
            self.kind = "mps"
            size = int(memory or MACS[name])
            shared = find_shared_memory(size)
            gpu = Gpu(f"Apple {name.title()}", size, (0, 0), 0, shared)
        if name.endswith(ENDING):
            if memory:
                raise UnknownDevice(f"the memory of `{named}` stands in the file")
            try:
                gpu = read_device_file(named.strip())
            except DeviceFileError as error:
                raise UnknownDevice(str(error)) from None
        self.is_named = gpu is not None and name != "cuda"
        if self.kind == "cuda" and gpu is None:
            raise UnknownDevice(_describe_unknown(text, name, memory))
        self.count = int(number or 1)
        if self.count < 1 or (self.kind != "cuda" and self.count > 1):
            raise UnknownDevice(f"no machine has {self.count} of `{name}`")
        gpu = gpu or Gpu("", 0, (0, 0), 0)
        self.name, self.memory = gpu.name, gpu.memory
        self.capability, self.processors = gpu.capability, gpu.processors
        self.described = gpu.described
        if memory:
            self.memory = int(memory)


def _describe_unknown(text: str, name: str, memory: str | None) -> str:
    """Return that no device has the name, with those that were probably meant.

    Their first letter is the same: a B200 is no misspelled H200. Or the name lacks its
    first word: a 3090 is an RTX 3090.
    """
    known = ["cpu", "cuda", "mps", *GPUS, *MACS]
    alike = [device for device in known if device[0] == name[:1]]
    alike = [device for device in alike if device.startswith(name)] or alike
    ending = [device for device in known if device.endswith(f" {name}")]
    if close := ending or sorted(get_close_matches(name, alike, n=2)):
        number = text[: text.lower().index(name)]
        size = f" {memory}GB" if memory else ""
        meant = map(_format_name, close)
        words = " or ".join(f"`{number}{device}{size}`" for device in meant)
        return f"no device `{text}` is known; did you mean {words}?"
    names = ", ".join(f'"{_format_name(name)}"' for name in known if name in GPUS)
    return (
        f"no device `{text}` is known; there is cpu, cuda, mps, {names}, several GPUs: "
        '"2x H100", the chips of Macs: "M3 Max 64GB", and a file that describes a GPU: '
        "gpu.toml"
    )


def _format_name(name: str) -> str:
    """Return a name as people write it: `RTX 4090`, `M3 Max`, `cpu`."""
    if name in MACS:
        return name.title()
    return name.upper() if name in GPUS else name
