"""The claimed device: stand-ins for what `torch.cuda` and similar modules report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from shapewright.engine.devices import make_gpu_error
from shapewright.engine.replacement import make_resembling, replace_attribute
from shapewright.runtime.legacy_types import claim_legacy_types
from shapewright.runtime.named_machines import GIB, Machine

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

STATE = torch.zeros(16, dtype=torch.uint8)
"""The state of a GPU's random number generator; no numbers are drawn from it."""

NCCL_VERSION = (2, 27, 7)
"""The version of NCCL that wheels of torch 2.9 and later for GPUs contain."""


def has_gpu() -> bool:
    """Return whether this machine has a GPU that torch can use."""
    return torch.cuda.is_available()


@contextmanager
def claim_machine(
    machine: Machine,
    engine: Engine,
    add_note: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Make `torch.cuda` and similar modules report the claimed machine in the block.

    `add_note` gets a sentence for what has memory of its own: streams and graphs.
    """
    has_gpu = machine.kind == "cuda"
    engine.claim(machine.kind, machine.count if has_gpu else None)
    spaces: list[tuple[Any, dict[str, Any]]] = [(torch.backends.mps, {
        "is_available": machine.kind == "mps", "is_built": machine.kind == "mps",
    })]  # fmt: skip
    if has_gpu:
        answers = _make_gpu_functions(machine, engine)
        spaces += [(torch.cuda, answers), (torch.cuda.random, answers)]
        spaces.append((torch.cuda.nccl, {"version": NCCL_VERSION}))
    else:
        spaces.append((torch.cuda, {"is_available": False, "device_count": 0}))
    spaces.append((torch._C, {"_get_accelerator": torch.device(machine.kind)}))
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        spaces.append((accelerator, _make_accelerator_functions(machine, engine)))
    with ExitStack() as stack:
        for space, replacements in spaces:
            for name, value in replacements.items():
                if name in vars(space):
                    stack.enter_context(
                        replace_attribute(space, name, _make_answering(value))
                    )
        if has_gpu:
            streams, graphs = (_build_note(add_note, t) for t in (STREAMS, GRAPHS))
            for name, make in {
                "Stream": _make_subclass_maker(_Stream, **streams),
                "Event": _make_subclass_maker(_Stream),
                "device": _make_subclass_maker(_Chosen, engine=engine),
                "device_of": _make_subclass_maker(_Chosen, engine=engine),
                "stream": _make_answering(_Stream()),
                "CUDAGraph": _make_subclass_maker(_Stream, **graphs),
                "graph": _make_subclass_maker(_Stream),
            }.items():  # fmt: skip
                stack.enter_context(replace_attribute(torch.cuda, name, make))
            stack.enter_context(replace_attribute(torch.nn.Module, "to", _wrap_move))
            stack.enter_context(claim_legacy_types())
            if "record_stream" not in vars(torch.Tensor):  # it is its base's
                recorded = make_resembling(torch.Tensor.record_stream, _ignore_stream)
                setattr(torch.Tensor, "record_stream", recorded)  # noqa: B010
                stack.callback(delattr, torch.Tensor, "record_stream")
        yield


def _make_gpu_functions(machine: Machine, engine: Engine) -> dict[str, Any]:
    """Return the results of `torch.cuda` functions: constants, or functions to call."""
    memory, name = machine.memory * GIB, machine.name
    major, minor = machine.capability
    properties = SimpleNamespace(
        name=name, total_memory=memory, multi_processor_count=machine.processors,
        major=major, minor=minor, warp_size=32, gcnArchName="", is_integrated=False,
        is_multi_gpu_board=False,
    )  # fmt: skip

    def of_one(value: Any) -> _Asked:
        """Return a query with the result `value` for any GPU that exists."""

        def tell(device: Any = None, *args: Any, **kwargs: Any) -> Any:
            if device is not None and not 0 <= get_device_index(device) < machine.count:
                raise AssertionError("Invalid device id")
            return value

        return _Asked(tell)

    return {
        "is_available": True, "device_count": machine.count,
        "is_bf16_supported": machine.capability >= (8, 0),
        "get_device_name": of_one(name),
        "get_device_capability": of_one(machine.capability),
        "get_device_properties": of_one(properties),
        "current_device": _Asked(lambda: engine.gpu),
        "can_device_access_peer": True,
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
        "max_memory_reserved": 0, "mem_get_info": (memory, memory),
        "is_initialized": True, "is_current_stream_capturing": False,
        "init": None, "set_device": _Asked(partial(_choose_gpu, engine)),
        "synchronize": None, "empty_cache": None, "manual_seed": None,
        "manual_seed_all": None, "reset_peak_memory_stats": None, "ipc_collect": None,
        "memory_summary": "", "memory_stats": {}, "utilization": 0,
        "reset_max_memory_allocated": None, "seed_all": None,
        "current_stream": _Stream(),
        "set_per_process_memory_fraction": None, "default_stream": _Stream(),
        "set_rng_state": None, "set_rng_state_all": None, "initial_seed": 0,
        "get_rng_state": STATE, "get_rng_state_all": [STATE] * machine.count,
        "graph_pool_handle": (0, 0), "make_graphed_callables": _Asked(_keep_uncaptured),
        "get_arch_list": [f"sm_{major}{minor}"],
    }  # fmt: skip


def _make_accelerator_functions(machine: Machine, engine: Engine) -> dict[str, Any]:
    """Return the results of `torch.accelerator` functions."""
    there = machine.kind != "cpu"
    now, number = _Asked(lambda: engine.gpu), _Asked(partial(_choose_gpu, engine))
    return {
        "is_available": there, "device_count": machine.count if there else 0,
        "current_accelerator": torch.device(machine.kind) if there else None,
        "synchronize": None, "current_stream": _Stream(), "set_stream": None,
        "current_device_index": now, "current_device_idx": now,
        "set_device_index": number, "set_device_idx": number, "empty_cache": None,
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
        "max_memory_reserved": 0, "memory_stats": {}, "reset_peak_memory_stats": None,
    }  # fmt: skip


def get_device_index(device: Any) -> int:
    """Return the index of a GPU: 1 for `cuda:1`."""
    return device if isinstance(device, int) else torch.device(device).index or 0


def _choose_gpu(engine: Engine, device: Any) -> None:
    """Make a GPU the current one, to which `cuda` refers."""
    number = get_device_index(device)
    if number >= (engine.gpus or 1):
        raise make_gpu_error()
    if number >= 0:
        engine.use_gpu(number)


class _Chosen:
    """A stand-in for `torch.cuda.device`, as in `with torch.cuda.device(1):`."""

    engine: ClassVar[Engine]

    def __init__(self, device: Any) -> None:
        if isinstance(device, torch.Tensor):
            device = device.device
        self.number = -1 if device is None else get_device_index(device)

    def __enter__(self) -> None:
        self.before = self.engine.gpu
        _choose_gpu(self.engine, self.number)

    def __exit__(self, *args: object) -> None:
        _choose_gpu(self.engine, self.before)


def _wrap_move(original: Any) -> Any:
    """Wrap `model.to` to accept the index of a claimed GPU, as in `model.to(0)`."""

    @wraps(original)
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is int:
            args = (f"cuda:{args[0]}", *args[1:])
        if type(kwargs.get("device")) is int:
            kwargs["device"] = f"cuda:{kwargs['device']}"
        return original(self, *args, **kwargs)

    return to


def _ignore_stream(original: Any) -> Any:
    """Return a `record_stream` that does nothing, since no memory is reused."""
    return lambda tensor, stream: None


def _make_subclass_maker(kind: type, **attributes: Any) -> Callable[[Any], type]:
    """Return a function that makes a subclass of `kind` named like the original."""
    return lambda original: type(kind)(original.__name__, (kind,), attributes)


class _Asked:
    """A function that computes the result of a query from its arguments."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer


def _make_answering(value: Any) -> Any:
    """Return a maker of functions that return `value`, or its result if `_Asked`."""

    def make(original: Any) -> Any:
        if isinstance(value, _Asked):
            return lambda *args, **kwargs: value.answer(*args, **kwargs)
        return lambda *args, **kwargs: value

    return make


def _keep_uncaptured(callables: Any, *args: Any, **kwargs: Any) -> Any:
    """Return callables as they are, whose kernels a graph would replay."""
    return callables


STREAMS = (
    "there are several streams, and counted is one: memory that another stream has"
    " freed is not reused, so that more may be reserved"
)
GRAPHS = (
    "the program captures CUDA graphs: each keeps its memory in a pool of its own, so"
    " that more may be reserved"
)


def _build_note(note: Callable[[str], None] | None, text: str) -> dict[str, Any]:
    """Return the attributes of a stand-in that notes each time it is constructed."""
    return {} if note is None else {"note": staticmethod(partial(note, text))}


class _Stream:
    """A stand-in for a stream or an event, which has nothing to order, or for a graph
    of kernels: what is captured runs once, and a replay leaves its results as they are.
    """

    note: Callable[[], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.note is not None:
            self.note()

    def __enter__(self) -> _Stream:
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
