"""A GPU and what is known of it, which a file in TOML may say.

Example::

    name = "NVIDIA B200"
    memory = 180              # GB, as on its data sheet
    capability = "10.0"
    capacity = [167.6, 178.3] # GiB that a program can have, at least and at most
    context = [300, 600]      # MiB of the CUDA context
    workspace = 32            # MiB of cuBLAS
    bandwidth = 8e12          # bytes in a second
    flops = { bfloat16 = 2.25e15, float32 = 75e12 }  # in a second
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

from shapewright.analysis.memory.caching_allocator import MIB
from shapewright.analysis.memory.device_memory import (
    GIB,
    DeviceMemory,
    DeviceRates,
    find_device_memory,
)

ENDING = ".toml"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its full name, GiB of memory, compute capability and multiprocessors.

    `described` is what a file says of its memory.
    """

    name: str
    memory: int
    capability: tuple[int, int]
    processors: int
    described: DeviceMemory | None = None


NAMES = ("name", "memory", "capability", "processors")
"""What the names of a device stand for elsewhere; `processors` may be left out."""

NUMBERS = {"capacity": GIB, "context": MIB, "workspace": MIB}
"""What may be stated of the memory, with its unit in bytes; else it is looked up."""

RATES = ("bandwidth", "flops")
DTYPES = ("bfloat16", "float16", "tf32", "float32")


class DeviceFileError(ValueError):
    """Raised for a file that describes no GPU; one sentence."""


def read_device_file(path: str) -> Gpu:
    """Return the GPU that a file describes.

    Raises `DeviceFileError` where the file cannot be read, misses an entry, or has one
    that is not known.
    """
    try:
        entries = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise DeviceFileError(f"`{path}`: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeviceFileError(f"`{path}` is no TOML: {error}") from None
    try:
        return _read_entries(entries)
    except DeviceFileError as error:
        raise DeviceFileError(f"`{path}`: {error}") from None


def _read_entries(entries: Mapping[str, Any]) -> Gpu:
    known = (*NAMES, *NUMBERS, *RATES)
    for entry in entries:
        if entry not in known:
            close = get_close_matches(entry, known, n=1)
            meant = f"; did you mean `{close[0]}`?" if close else ""
            raise DeviceFileError(f"`{entry}` is not known{meant}")
    name = entries.get("name")
    if not isinstance(name, str) or not name.strip():
        raise DeviceFileError('`name` is missing: a text, as in name = "NVIDIA B200"')
    gigabytes = entries.get("memory")
    if type(gigabytes) is not int or gigabytes < 1:
        raise DeviceFileError("`memory` is missing: whole gigabytes, as in memory = 80")
    capability = _read_capability(entries.get("capability"))
    processors = entries.get("processors", 1)
    if type(processors) is not int or processors < 1:
        raise DeviceFileError("`processors` is a whole number, as in processors = 132")
    memory = find_device_memory(name, gigabytes, capability)
    if "capacity" in entries:
        memory = replace(memory, capacity=_read_range(entries, "capacity"))
    if "context" in entries:
        memory = replace(memory, context=_read_range(entries, "context"))
    if "workspace" in entries:
        least, most = _read_range(entries, "workspace")
        if least != most:
            raise DeviceFileError("`workspace` is one number")
        memory = replace(memory, workspace=least)
    if any(rate in entries for rate in RATES):
        memory = replace(memory, rates=_read_rates(entries))
    return Gpu(name, gigabytes, capability, processors, memory)


def _read_capability(value: Any) -> tuple[int, int]:
    """Return `(9, 0)` for the text "9.0"."""
    parts = value.split(".") if isinstance(value, str) else ()
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        raise DeviceFileError(
            '`capability` is missing: the compute capability, as in capability = "9.0"'
        )
    return int(parts[0]), int(parts[1])


def _read_range(entries: Mapping[str, Any], entry: str) -> tuple[int, int]:
    """Return bytes at least and at most, of one number or of a list of two."""
    value = entries[entry]
    both = value if isinstance(value, list) else [value, value]
    if len(both) != 2 or not all(map(_is_positive, both)) or both[0] > both[1]:
        raise DeviceFileError(
            f"`{entry}` is a number or two, the least and the most, as in "
            f"{entry} = [300, 600]"
        )
    return int(both[0] * NUMBERS[entry]), int(both[1] * NUMBERS[entry])


def _read_rates(entries: Mapping[str, Any]) -> DeviceRates:
    bandwidth, flops = entries.get("bandwidth"), entries.get("flops")
    if bandwidth is None or not _is_positive(bandwidth):
        raise DeviceFileError("`bandwidth` is bytes in a second, as 3e12")
    if not isinstance(flops, dict) or not flops:
        raise DeviceFileError(
            "`flops` are operations in a second by dtype, as in "
            "flops = { bfloat16 = 9e14, float32 = 6e13 }"
        )
    for dtype, rate in flops.items():
        if dtype not in DTYPES or not _is_positive(rate):
            names = ", ".join(DTYPES)
            raise DeviceFileError(
                f"`flops` has numbers for dtypes, {names}; `{dtype}` is none of these"
                if dtype not in DTYPES
                else f"`flops` of `{dtype}` is a number greater than 0"
            )
    return DeviceRates({dtype: float(rate) for dtype, rate in flops.items()}, bandwidth)


def _is_positive(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and value > 0
