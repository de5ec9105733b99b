"""Restore the process: our patches, and what a program sets."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from operator import is_
from types import ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as nn_module
from torch.utils import _device

from shapewright.engine.postponed_imports import is_stand_in, replace_dynamo
from shapewright.engine.private import device_context
from shapewright.engine.random_seeds import seed_generators
from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.compiled_modules import leave_uncompiled

Undo = Callable[[], object]


@contextmanager
def _restore_process() -> Iterator[dict[str, Any]]:
    """Restore what the program changes in the process during the block.

    Yields a dict that reports, on leaving, what the program did: see `note_process`.
    """
    did, put_back = note_process()
    try:
        yield did
    finally:
        put_back()


def note_process() -> tuple[dict[str, Any], Callable[[], None]]:
    """Return a report of changes, and a function that restores the process after a run.

    The dict reports, after that, what the program did: `threads` that it started and
    that still run, `folder` changed, `patched` names of torch. In a child process that
    the program forked, restoring does not return: the child ends.
    """
    did: dict[str, Any] = {"patched": [], "pid": os.getpid()}
    folder = os.getcwd()
    threads = set(threading.enumerate())
    settings = [(write, read(), read) for read, write in SETTINGS]
    undo = [
        *(_make_list_undo(held) for held in (sys.path, sys.argv, sys.meta_path)),
        _make_list_undo(logging.root.handlers),
        _make_filters_undo(),
        _make_environment_undo(),
        _make_numpy_undo(),
        _make_handlers_undo(),
        _make_modes_undo(),
        *(_make_mapping_undo(hooks) for hooks in GLOBAL_HOOKS),
        _make_mapping_undo(vars(torch._tensor_str.PRINT_OPTS)),
        *(_make_namespace_undo(space, did["patched"]) for space in PATCHABLE),
    ]

    def put_back() -> None:
        leave_if_forked(did["pid"], sys.exception())
        did["threads"] = len(set(threading.enumerate()) - threads)
        did["folder"] = _get_folder() != folder
        if did["folder"]:
            os.chdir(folder)
        for undo_change in undo:
            undo_change()
        for write, before, read in settings:
            if not _is_equal(read(), before):
                write(before)

    return did, put_back


def leave_if_forked(pid: int, error: BaseException | None = None) -> None:
    """Exit if this process was forked by the program, as the program itself would
    exit.
    """
    if os.getpid() == pid:
        return
    code = 0
    error = getattr(error, "cause", error)  # of a ProgramError
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(bool(error.code))
    elif error is not None:
        traceback.print_exception(error)
        code = 1
    sys.stderr.flush()
    os._exit(code)


def _get_folder() -> str:
    """Return the working directory, or an empty string if the program removed it."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _is_equal(now: Any, before: Any) -> bool:
    """Return whether a setting is unchanged; tensors are compared by value."""
    if isinstance(before, torch.Tensor):
        return bool(torch.equal(now, before))
    return now is before or bool(now == before)


# -- settings that are read and written --------------------------------------------


def _make_attribute_access(
    owner: Any, name: str
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return functions that read and write a setting stored in an attribute."""
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value)


def _make_autocast_access(kind: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return functions that read and write a device's autocast state and dtype."""

    def write(state: tuple[bool, torch.dtype]) -> None:
        torch.set_autocast_enabled(kind, state[0])
        torch.set_autocast_dtype(kind, state[1])

    return (
        lambda: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)),
        write,
    )


def _read_autocast_nesting() -> int:
    """Return how many blocks of autocast are open: at none its casts are dropped."""
    depth: int = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    return depth - 1


def _restore_autocast_nesting(depth: int) -> None:
    while _read_autocast_nesting() > depth:
        torch.autocast_decrement_nesting()
    if depth == 0:
        torch.clear_autocast_cache()


SETTINGS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    *(_make_autocast_access(kind) for kind in ("cpu", "cuda")),
    (_read_autocast_nesting, _restore_autocast_nesting),
    (
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        lambda state: torch.use_deterministic_algorithms(state[0], warn_only=state[1]),
    ),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda state: torch.set_anomaly_enabled(*state),
    ),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_warn_always_enabled, torch.set_warn_always),
    *(
        _make_attribute_access(torch.backends.cudnn, n)
        for n in ("benchmark", "deterministic")
    ),
    _make_attribute_access(sys, "stdin"),
    _make_attribute_access(sys, "stdout"),
    _make_attribute_access(sys, "stderr"),
    _make_attribute_access(sys, "excepthook"),
    _make_attribute_access(sys, "displayhook"),
    _make_attribute_access(threading, "excepthook"),
    _make_attribute_access(warnings, "showwarning"),
    _make_attribute_access(logging.root.manager, "disable"),
    (lambda: logging.root.level, logging.root.setLevel),
    (sys.gettrace, sys.settrace),
    (sys.getprofile, sys.setprofile),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.getswitchinterval, sys.setswitchinterval),
    (gc.isenabled, lambda enabled: gc.enable() if enabled else gc.disable()),
    (gc.get_threshold, lambda counts: gc.set_threshold(*counts)),
    (lambda: _get_umask(), os.umask),
]


def _get_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# -- what is put back by its contents ------------------------------------------------


def _make_list_undo(held: list[Any]) -> Undo:
    """Return a function that restores the items of a shared list in place."""
    items = list(held)

    def undo() -> None:
        if not _has_same_items(held, items):
            held[:] = items

    return undo


def _has_same_items(items: list[Any], other_items: list[Any]) -> bool:
    """Return whether two lists hold the same objects."""
    return len(items) == len(other_items) and all(map(is_, items, other_items))


def _make_mapping_undo(held: dict[Any, Any]) -> Undo:
    """Return a function that restores a shared mapping in place."""
    items = dict(held)

    def undo() -> None:
        if held != items:
            held.clear()
            held.update(items)

    return undo


def _make_filters_undo() -> Undo:
    """Return a function that restores the warning filters and resets their cache."""
    held, items = warnings.filters, list(warnings.filters)

    def undo() -> None:
        if warnings.filters is not held or list(held) != items:
            held[:] = items  # type: ignore[index]
            warnings.filters = held
            warnings._filters_mutated()  # type: ignore[attr-defined]

    return undo


def _make_environment_undo() -> Undo:
    """Return a function that restores the environment variables."""
    before = os.environ.copy()

    def undo() -> None:
        if os.environ.copy() != before:
            for name in set(os.environ) - set(before):
                del os.environ[name]
            os.environ.update(before)

    return undo


def _make_numpy_undo() -> Undo:
    """Return a function that restores the random state of numpy, if loaded."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return lambda: None
    state = numpy.random.get_state()
    return lambda: numpy.random.set_state(state)


def _make_handlers_undo() -> Undo:
    """Return a function that restores the signal handlers and the timer."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    before = {number: handler_of(number) for number in SIGNALS}
    timer = signal.getitimer(signal.ITIMER_REAL)

    def undo() -> None:
        for number, handler in before.items():
            if handler_of(number) is not handler and handler is not None:
                signal.signal(number, handler)
        if timer == (0.0, 0.0) and signal.getitimer(signal.ITIMER_REAL) != timer:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return undo


handler_of: Callable[[int], Any] = getattr(signal, "_signal", signal).getsignal
"""`signal.getsignal` without the conversion of its result to an enumeration member."""
SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
GLOBAL_HOOKS: list[dict[Any, Any]] = [
    value
    for name, value in vars(nn_module).items()
    if name.startswith("_global_") and isinstance(value, dict)
]


# -- torch's own modes and names ---------------------------------------------------


def _make_modes_undo() -> Undo:
    """Return a function that restores the function modes and the default device."""
    modes = torch.overrides._get_current_function_mode_stack()
    device, context = _device.CURRENT_DEVICE, device_context.get()

    def undo() -> None:
        now = torch.overrides._get_current_function_mode_stack()
        if not _has_same_items(now, modes):
            for _ in now:
                torch.overrides._pop_mode()
            for mode in modes:
                torch.overrides._push_mode(mode)
        _device.CURRENT_DEVICE = device
        device_context.put(context)

    return undo


PATCHABLE: tuple[Any, ...] = (
    torch, torch.Tensor, nn, nn.functional, nn.init, nn.Module, nn.Parameter,
    torch.autograd.Function, torch.optim.Optimizer, torch.linalg, torch.cuda,
)  # fmt: skip
"""Modules and classes in which programs patch torch."""


def _make_namespace_undo(space: Any, patched: list[str]) -> Undo:
    """Return a function that restores a namespace of torch, except new modules."""
    before = dict(vars(space))

    def undo() -> None:
        now = vars(space)
        if now == before:
            return
        for name in {**before, **now}:
            old, new = before.get(name, MISSING), now.get(name, MISSING)
            if old is new or isinstance(new, ModuleType) or name in LAZY:
                continue
            patched.append(f"{getattr(space, '__name__', space)}.{name}")
            if old is MISSING:
                delattr(space, name)
            else:
                setattr(space, name, old)

    return undo


MISSING = object()
LAZY = frozenset({"__getattr__", "__warningregistry__", "__annotations__"})


@contextmanager
def guard_surroundings() -> Iterator[dict[str, Any]]:
    """Patch a run's surroundings, and restore all of them afterwards.

    Yields the report of `_restore_process`.
    """
    with _restore_process() as did, apply_patches():
        yield did


@contextmanager
def apply_patches() -> Iterator[None]:
    """Apply our own patches in the block, none of which a program notices."""
    with ExitStack() as stack:
        stack.enter_context(_slow_collector())
        stack.enter_context(_replace_compile())
        stack.enter_context(replace_dynamo())
        stack.enter_context(seed_generators())
        yield


@contextmanager
def _slow_collector() -> Iterator[None]:
    """Collect garbage more rarely in the block, since the record has no cycles.

    With Python's own thresholds a third of a run's time goes into looking for them.
    Afterwards all young objects are declared old, which moves two list heads, whereas
    the next collection would look at each event of the record.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], 100_000), *before[1:])
    try:
        yield
    finally:
        if before[0] and not gc.get_freeze_count():  # else the program's are frozen
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*before)


@contextmanager
def _replace_compile() -> Iterator[None]:
    """Make `torch.compile` return its argument, so that all code runs uncompiled; a
    module in a wrapper, as torch does it.
    """
    original = torch.compile

    def uncompiled(model: Any = None, **_: Any) -> Any:
        return leave_uncompiled(model)

    torch.compile = copy_attributes(uncompiled, original)
    try:
        if "torch._dynamo" in sys.modules and not is_stand_in():
            with torch.compiler.set_stance("force_eager"):
                yield
        else:
            yield
    finally:
        if torch.compile is uncompiled:
            torch.compile = original
