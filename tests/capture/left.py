"""What a run could leave behind: a photograph of a model, and one of the process.

A photograph holds the objects themselves, so that identity can be compared after the
run, and the bytes of every tensor. `differences` names what is not as it was.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils import _device

Picture = dict[str, Any]
CONTAINERS = (dict, list, set, tuple, OrderedDict)


def data_of(tensor: torch.Tensor) -> Any:
    """The bytes, or what can be had of them."""
    if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
        return "uninitialised"
    if tensor.layout is not torch.strided:
        return data_of(tensor.to_dense())
    if tensor.is_meta:
        return tuple(tensor.shape)
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def of_tensor(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, Any]]:
    """Everything about a tensor that its owner could notice."""
    yield f"{name} itself", tensor
    yield f"{name}.data", data_of(tensor)
    yield f"{name}.dtype", tensor.dtype
    yield f"{name}.device", tensor.device
    yield f"{name}.requires_grad", tensor.requires_grad
    yield f"{name}._version", tensor._version
    yield f"{name}.grad_fn", tensor.grad_fn
    yield f"{name}.__class__", type(tensor)
    yield f"{name}.__dict__", dict(vars(tensor))
    yield f"{name}._backward_hooks", tensor._backward_hooks
    if not isinstance(tensor, nn.parameter.UninitializedTensorMixin):
        yield f"{name}.address", tensor.data_ptr() if not tensor.is_sparse else 0
        yield f"{name}.shape", (tuple(tensor.shape), str(tensor.layout))
    if tensor.is_leaf and tensor.grad is not None:
        yield from of_tensor(f"{name}.grad", tensor.grad)
    else:
        yield f"{name}.grad", None


def of_value(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """A value by identity, containers with what they hold."""
    yield f"{name} itself", value
    if isinstance(value, torch.Tensor):
        yield from of_tensor(name, value)
    elif isinstance(value, dict) and depth < 4:
        yield f"{name} keys", list(value)
        for key, item in list(value.items()):
            yield from of_value(f"{name}[{key!r}]", item, depth + 1)
    elif isinstance(value, set):
        yield f"{name} items", set(value)
    elif isinstance(value, list | tuple) and depth < 4:
        yield f"{name} length", len(value)
        for index, item in enumerate(list(value)):
            yield from of_value(f"{name}[{index}]", item, depth + 1)


def of_model(model: nn.Module) -> Picture:
    """Every module, by identity, with all that its `__dict__` holds."""
    found: Picture = {"state_dict": list(model.state_dict())}
    for path, module in model.named_modules():
        found[f"{path} itself"] = module
        found[f"{path} class"] = type(module)
        found |= of_value(f"{path}.__dict__", vars(module))
    return found


def of_process() -> Picture:
    """Settings of torch and of Python that outlive a call."""
    return {
        "torch random state": torch.get_rng_state().numpy().tobytes(),
        "random state": random.getstate(),
        "numpy random state": repr(numpy.random.get_state()),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": _device.CURRENT_DEVICE,
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        "autocast": [
            (torch.is_autocast_enabled(k), torch.get_autocast_dtype(k))
            for k in ("cpu", "cuda")
        ],
        "autocast cache": torch.is_autocast_cache_enabled(),
        "matmul precision": torch.get_float32_matmul_precision(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "torch threads": torch.get_num_threads(),
        "cudnn": (
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
        ),
        "print options": vars(torch._tensor_str.PRINT_OPTS).copy(),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "function overrides": torch._C._is_torch_function_enabled(),
        "nn.Module": dict(vars(nn.Module)),
        "torch.Tensor": dict(vars(torch.Tensor)),
        "Tensor._make_subclass": torch.Tensor._make_subclass,
        "nn.Parameter": dict(vars(nn.Parameter)),
        "Function": dict(vars(torch.autograd.Function)),
        "torch": {
            name: value
            for name, value in vars(torch).items()
            if not isinstance(value, ModuleType)  # loaded when first needed
        },
        "nn.functional": dict(vars(nn.functional)),
        "nn.init": dict(vars(nn.init)),
        "global module hooks": [
            dict(v)
            for k, v in vars(nn.modules.module).items()
            if k.startswith("_global_") and isinstance(v, dict)
        ],
        "collector": (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()),
        "stand-in modules": [
            name
            for name, module in sys.modules.items()
            if type(module).__module__.startswith("shapewright")
        ],
        "hidden modules": [n for n, m in sys.modules.items() if m is None],
        "folder": os.getcwd(),
        "sys.path": list(sys.path),
        "sys.argv": list(sys.argv),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook),
        "tracers": (sys.gettrace(), sys.getprofile()),
        "meta path": list(sys.meta_path),
        "warning filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "signal handlers": [
            signal.getsignal(number) for number in sorted(signal.valid_signals())
        ],
        "timers": signal.getitimer(signal.ITIMER_REAL),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "environment": sorted(os.environ.items()),
        "threads": set(threading.enumerate()),
        "Thread": dict(vars(threading.Thread)),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "umask": umask(),
    }  # fmt: skip


def umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def differences(before: Picture, after: Picture) -> list[str]:
    """What is not as it was: identity for objects, equality for plain values."""
    return [
        f"{name}: {short(before.get(name, 'absent'))} -> "
        f"{short(after.get(name, 'absent'))}"
        for name in {**before, **after}
        if name not in before or name not in after
        or not alike(name, before[name], after[name])
    ]  # fmt: skip


def alike(name: str, one: Any, other: Any) -> bool:
    return one is other if name.endswith(" itself") else same(one, other)


PLAIN = (int, float, bool, str, bytes, tuple, list, dict, set, type(None))


def same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(
            same(one[name], other[name]) for name in one
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other) or not isinstance(
        one, (*PLAIN, torch.dtype, torch.device)
    ):
        # A method is a new object at each look.
        return getattr(one, "__func__", one) is getattr(other, "__func__", other) and (
            one is other or hasattr(one, "__func__")
        )
    return bool(one == other)


def short(value: Any) -> str:
    text = object.__repr__(value) if isinstance(value, torch.Tensor) else repr(value)
    return text if len(text) < 100 else f"{text[:97]}..."


@contextmanager
def nothing_left(*models: nn.Module) -> Iterator[None]:
    """Fail where the process, or one of the models, is not as it was."""
    process = of_process()
    pictures = [of_model(model) for model in models]
    try:
        yield
    finally:
        after = of_process()
        found = differences(process, after)
        for name in [line.partition(":")[0] for line in found]:
            if isinstance(process[name], dict):  # which of its names
                found += differences(process[name], after[name])
        for model, picture in zip(models, pictures, strict=True):
            found += differences(picture, of_model(model))
        assert not found, "left behind:\n" + "\n".join(found)
