"""Record the inputs and outputs of chosen modules in a real run."""

from __future__ import annotations

import copy as copying
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from threading import get_ident
from typing import Any

import torch
from torch import nn

Tensor = torch.Tensor


class _NotRecorded(LookupError):
    """Raised for a value that was not recorded; the message lists what was."""


class _Values:
    """Nested real tensors, with the versions that they had when they were recorded."""

    __slots__ = ("nest", "versions")

    def __init__(self, nest: Any) -> None:
        self.nest = nest
        self.versions = [
            (t, t._version) for t in _collect_tensors(nest) if not t.is_inference()
        ]

    def is_overwritten(self) -> bool:
        """Return whether a tensor was written in place after it was recorded."""
        return any(tensor._version != then for tensor, then in self.versions)


class _RecordedCall:
    """A real call of a module.

    Example: for ``pool``, called twice in LeNet on a batch of 8,
    ``seen["pool", 2].args[0].shape`` is ``(8, 16, 10, 10)`` and
    ``seen["pool", 2].output.shape`` is ``(8, 16, 5, 5)``.

    `path` and `class_name` name the module, `call` counts its calls from 1. `args` and
    `kwargs` are its arguments and `output` the nest that it returned: the tensors
    themselves, with their autograd graph. Reading values that were written in place
    since raises `_NotRecorded`; ``recording(..., copy=True)`` keeps them.
    """

    __slots__ = ("_given", "_returned", "call", "class_name", "path")

    def __init__(self, path: str, class_name: str, call: int, inputs: _Values) -> None:
        self.path = path
        self.class_name = class_name
        self.call = call
        self._given = inputs
        self._returned: _Values | None = None

    @property
    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return `(args, kwargs)`, the form in which a trace has them."""
        return self._read(self._given, "input")  # type: ignore[no-any-return]

    @property
    def args(self) -> tuple[Any, ...]:
        """Return the positional arguments of `forward`."""
        return self.inputs[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of `forward`."""
        return self.inputs[1]

    @property
    def output(self) -> Any:
        """Return the result of `forward`, after the hooks of the module."""
        if self._returned is None:
            raise _NotRecorded(f"{self._name()} did not return: it raised an exception")
        return self._read(self._returned, "output")

    def _read(self, values: _Values, what: str) -> Any:
        if values.is_overwritten():
            raise _NotRecorded(
                f"the {what} of {self._name()} was written in place after it was "
                "recorded; `recording(..., copy=True)` keeps it as it was"
            )
        return values.nest

    def _name(self) -> str:
        where = f"`{self.path}`" if self.path else "the model itself"
        return where if self.call == 1 else f"{where} (call {self.call})"

    def __repr__(self) -> str:
        return f"<{self.class_name} {self._name()}>"


class Recording(Sequence[_RecordedCall]):
    """The recorded calls, in the order in which they began.

    ``seen["conv1"]`` is the first call of that module, ``seen["conv1", 2]`` its second
    and ``seen["conv1", -1]`` its last; ``seen.find("layer*")`` are all calls of the
    modules that a pattern matches; ``seen[0]`` is the first call of all.
    """

    def __init__(self, paths: dict[str, str]) -> None:
        self._calls: list[_RecordedCall] = []
        self._counts: dict[str, int] = {}
        self._paths = paths  # every path that is recorded: its module's first path

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | slice):
            return self._calls[key]
        path, call = key if isinstance(key, tuple) else (key, 1)
        if path not in self._paths:
            near = _describe_closest(path, list(self._paths))
            raise _NotRecorded(f"`{path}` is not recorded; {near}")
        calls = [c for c in self._calls if c.path == self._paths[path]]
        if not calls:
            raise _NotRecorded(
                f"`{path}` was not called while recording (its `forward` called "
                "directly, or from a scripted module, is not seen)"
            )
        if not 0 < (call if call > 0 else -call) <= len(calls):
            times = "once" if len(calls) == 1 else f"{len(calls)} times"
            raise _NotRecorded(f"`{path}` was called {times}: there is no call {call}")
        return calls[call - 1 if call > 0 else call]

    def find(self, pattern: str) -> tuple[_RecordedCall, ...]:
        """Return all calls of the modules whose path matches a shell-style pattern."""
        chosen = {first for p, first in self._paths.items() if fnmatchcase(p, pattern)}
        return tuple(call for call in self._calls if call.path in chosen)

    def clear(self) -> None:
        """Forget all calls, for instance between the steps of a training loop."""
        self._calls.clear()
        self._counts.clear()

    def __repr__(self) -> str:
        return f"<Recording of {len(self._paths)} modules: {len(self)} calls>"

    def _begin(self, path: str, class_name: str, inputs: _Values) -> _RecordedCall:
        number = self._counts[path] = self._counts.get(path, 0) + 1
        call = _RecordedCall(path, class_name, number, inputs)
        self._calls.append(call)
        return call


@contextmanager
def record_values(
    model: nn.Module,
    *paths: str,
    detach: bool = False,
    cpu: bool = False,
    copy: bool = False,
) -> Iterator[Recording]:
    """Record the inputs and outputs of modules: see `shapewright.recording`."""
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"`recording` takes an `nn.Module`, got `{_get_type_name(model)}`"
        )
    compiled = any(_is_compiled(module) for module in model.modules())
    model = getattr(model, "_orig_mod", model)  # torch.compile's wrapper
    modules, aliases = _choose_modules(model, paths or ("*",))
    seen = Recording(aliases)
    keep = _make_keeper(detach, cpu, copy)
    with ExitStack() as stack:
        if compiled:
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for path, module in modules.items():
            _hook_module(seen, path, module, keep, stack)
        yield seen


def _get_type_name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


def _is_compiled(module: nn.Module) -> bool:
    """Return whether a module is replaced by compiled code, which ignores new hooks."""
    return hasattr(module, "_orig_mod") or (
        vars(module).get("_compiled_call_impl") is not None
    )


def _choose_modules(
    model: nn.Module, patterns: Sequence[str]
) -> tuple[dict[str, nn.Module], dict[str, str]]:
    """Return the modules that match the patterns, and the first alias of each path."""
    every = list(model.named_modules(remove_duplicate=False))
    first: dict[int, str] = {}
    for path, module in every:
        first.setdefault(id(module), path)
    modules: dict[str, nn.Module] = {}
    aliases: dict[str, str] = {}
    for pattern in patterns:
        matching = [(p, m) for p, m in every if fnmatchcase(p, pattern)]
        if not matching:
            near = _describe_closest(pattern, [path for path, _ in every if path])
            raise _NotRecorded(
                f"no module of `{type(model).__name__}` matches `{pattern}`; {near}"
            )
        for path, module in matching:
            aliases[path] = first[id(module)]
            modules[first[id(module)]] = module
    return modules, aliases


def _describe_closest(asked: str, paths: list[str]) -> str:
    """Return a hint at the paths that resemble the requested one."""
    near = get_close_matches(asked, paths, n=3, cutoff=0.5)
    shown = near or paths[:6]
    if not shown:
        return "it has no submodules"
    names = ", ".join(f"`{path}`" for path in shown)
    if near:
        return f"close: {names}"
    more = len(paths) - len(shown)
    return f"there are {names}" + (f" and {more} more" if more else "")


def _hook_module(
    seen: Recording,
    path: str,
    module: nn.Module,
    keep: Callable[[Any], Any],
    stack: ExitStack,
) -> None:
    """Record the calls of one module, after hooks of the user that change values."""
    running: dict[int, list[_RecordedCall]] = {}

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        inputs = _Values(keep((args, kwargs)))
        call = seen._begin(path, type(module).__name__, inputs)
        running.setdefault(get_ident(), []).append(call)

    def after(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        running[get_ident()].pop()._returned = _Values(keep(output))

    handle = module.register_forward_pre_hook(before, with_kwargs=True)
    stack.callback(handle.remove)
    handle = module.register_forward_hook(after, with_kwargs=True)
    stack.callback(handle.remove)


# -- nests of real tensors -----------------------------------------------------


def _make_keeper(detach: bool, cpu: bool, copy: bool) -> Callable[[Any], Any]:
    """Return a function that copies nested tensors, detached or cloned."""

    def one(tensor: Tensor) -> Tensor:
        kept = tensor.detach() if detach else tensor
        if cpu and tensor.device.type != "cpu":
            return kept.cpu()
        # Inference tensors have no version that would tell of a write.
        return kept.clone() if copy or tensor.is_inference() else kept

    return lambda nest: _change_tensors(nest, one)


def _change_tensors(nest: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a copy of a nested structure with `change` applied to every tensor."""
    if isinstance(nest, Tensor):
        return change(nest)
    if type(nest) in (list, tuple) or hasattr(nest, "n_fields"):  # torch's own tuples
        return type(nest)([_change_tensors(item, change) for item in nest])
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*[_change_tensors(item, change) for item in nest])
    if isinstance(nest, Mapping) and hasattr(nest, "__setitem__"):
        changed: Any = copying.copy(nest)
        for name, item in nest.items():
            changed[name] = _change_tensors(item, change)
        return changed
    if dataclasses.is_dataclass(nest) and not isinstance(nest, type):
        changed = copying.copy(nest)
        for field in dataclasses.fields(nest):
            value = _change_tensors(getattr(nest, field.name, None), change)
            object.__setattr__(changed, field.name, value)
        return changed
    return nest


def _collect_tensors(nest: Any) -> list[Tensor]:
    """Return every tensor in a nested structure."""
    tensors: list[Tensor] = []

    def look(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    _change_tensors(nest, look)
    return tensors
