"""The device that is claimed: what `torch.cuda` and its like say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import torch

from shapewright.capture.rehearsal.steps import replaced

GIB = 1 << 30

GPUS = {
    "h200": ("NVIDIA H200", 141, (9, 0), 132),
    "h100": ("NVIDIA H100", 80, (9, 0), 132),
    "a100": ("NVIDIA A100", 40, (8, 0), 108),
    "l4": ("NVIDIA L4", 24, (8, 9), 58),
    "l40s": ("NVIDIA L40S", 48, (8, 9), 142),
    "t4": ("Tesla T4", 16, (7, 5), 40),
    "v100": ("Tesla V100", 16, (7, 0), 80),
    "rtx 3090": ("NVIDIA GeForce RTX 3090", 24, (8, 6), 82),
    "rtx 4090": ("NVIDIA GeForce RTX 4090", 24, (8, 9), 128),
    "rtx 5090": ("NVIDIA GeForce RTX 5090", 32, (12, 0), 170),
}
"""Name, GiB, compute capability, multiprocessors: as NVIDIA's data sheets have them."""

STATE = torch.zeros(16, dtype=torch.uint8)
"""The state of a GPU's random numbers, which none are drawn from."""

NAMED = re.compile(r"(.*?)(?:[ -](\d+) ?gi?b)?", re.I)


class UnknownDevice(ValueError):
    """No device of that name is known."""


class Machine:
    """A device, read from a text: `cpu`, `mps`, `cuda`, `H100 80GB`."""

    def __init__(self, text: str) -> None:
        match = NAMED.fullmatch(text.strip())
        name = (match[1] if match else text).lower().removeprefix("nvidia ").strip()
        self.kind = name if name in ("cpu", "mps") else "cuda"
        self.text = text
        gpu = GPUS["a100"] if name == "cuda" else GPUS.get(name)
        if self.kind == "cuda" and gpu is None:
            names = [f'"{each.upper()}"' for each in GPUS]
            known = ", ".join(["cpu", "cuda", "mps", *names])
            raise UnknownDevice(f"no device `{text}` is known; there is {known}")
        self.name, self.memory, self.capability, self.processors = gpu or (
            "",
            0,
            (0, 0),
            0,
        )
        if match and match[2]:
            self.memory = int(match[2])


@contextmanager
def claimed_machine(machine: Machine) -> Iterator[None]:
    """What a program asks of `torch.cuda`, `torch.backends.mps` is answered for it."""
    has_gpu = machine.kind == "cuda"
    memory = machine.memory * GIB
    properties = SimpleNamespace(
        name=machine.name, total_memory=memory,
        multi_processor_count=machine.processors,
        major=machine.capability[0], minor=machine.capability[1], warp_size=32,
        gcnArchName="", is_integrated=False, is_multi_gpu_board=False,
    )  # fmt: skip
    answers: dict[str, Any] = {
        "is_available": has_gpu, "device_count": int(has_gpu),
        "is_bf16_supported": machine.capability >= (8, 0),
        "get_device_name": machine.name, "get_device_capability": machine.capability,
        "get_device_properties": properties, "current_device": 0,
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
        "max_memory_reserved": 0, "mem_get_info": (memory, memory),
        "is_initialized": has_gpu, "is_current_stream_capturing": False,
        "init": None, "set_device": None,
        "synchronize": None, "empty_cache": None, "manual_seed": None,
        "manual_seed_all": None, "reset_peak_memory_stats": None, "ipc_collect": None,
        "memory_summary": "", "memory_stats": {}, "utilization": 0,
        "reset_max_memory_allocated": None, "seed_all": None,
        "current_stream": Stream(),
        "set_per_process_memory_fraction": None, "default_stream": Stream(),
        "set_rng_state": None, "set_rng_state_all": None, "initial_seed": 0,
        "get_rng_state": STATE, "get_rng_state_all": [STATE],
        "get_arch_list": [f"sm_{machine.capability[0]}{machine.capability[1]}"],
    }  # fmt: skip
    spaces: list[tuple[Any, dict[str, Any]]] = [(torch.backends.mps, {
        "is_available": machine.kind == "mps", "is_built": machine.kind == "mps",
    })]  # fmt: skip
    if has_gpu:
        spaces += [(torch.cuda, answers), (torch.cuda.random, answers)]
    else:
        spaces.append((torch.cuda, {"is_available": False, "device_count": 0}))
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        there = machine.kind != "cpu"
        now = torch.device(machine.kind if machine.kind != "cuda" else "cuda:0")
        spaces.append((accelerator, {
            "is_available": there, "device_count": int(there),
            "current_accelerator": now if there else None, "synchronize": None,
            "current_device_index": 0, "current_device_idx": 0,
                    "current_stream": Stream(), "set_stream": None,
                    "set_device_index": None,
        }))  # fmt: skip
    with ExitStack() as stack:
        for space, said in spaces:
            for name, value in said.items():
                if name in vars(space):
                    stack.enter_context(replaced(space, name, constant(value)))
        if has_gpu:
            for name in ("Stream", "Event"):
                stack.enter_context(replaced(torch.cuda, name, lambda _: Stream))
            stack.enter_context(replaced(torch.cuda, "stream", lambda _: Stream))
        yield


def constant(value: Any) -> Any:
    """A function that says so, whatever it is asked with."""

    def make(original: Any) -> Any:
        return lambda *args, **kwargs: value

    return make


class Stream:
    """A stream, an event: they order nothing, there is nothing to order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return 1.0

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self
