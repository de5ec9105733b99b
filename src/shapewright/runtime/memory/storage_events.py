"""Record which storages a run allocates and frees, below autograd.

A storage is known by a number, given at first sight; a weak reference says when it is
freed. For each it is noted which operator made it, under which module and at which line
of the program; for what backward makes, at the line of the call whose gradient it is:
each node of autograd has the number that was next when its call ran.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from shapewright.analysis.memory.device_memory import Processors
from shapewright.engine.call_sites import Site, Sites
from shapewright.engine.private import (
    count_storage_uses,
    count_uses,
    get_autograd_node,
    get_sequence_number,
)
from shapewright.engine.quick_kernels import compute_quickly
from shapewright.record.memory import (
    ACTIVATIONS,
    ALLOCATE,
    BUFFERS,
    FREE,
    RESIZE,
    SETUP,
    STEP,
    TEMPORARY,
    WORKSPACES,
    Event,
    Generation,
)
from shapewright.runtime.memory.arithmetic import KernelCounts
from shapewright.runtime.memory.kernel_scratch import (
    find_new_workspaces,
    list_scratch,
)
from shapewright.runtime.memory.known_values import (
    LIMIT,
    follow_values,
    get_value,
    set_value,
)
from shapewright.runtime.memory.reduction_scratch import Wave

_ATEN: Any = torch.ops.aten
_READS = (_ATEN._local_scalar_dense.default, _ATEN.is_nonzero.default)

_LISTS = (tuple, list)
"""A tuple of types: `tuple | list` would be made anew at each call."""

LOSSES = {
    _ATEN.mse_loss.default: (2, 1, True),
    _ATEN.smooth_l1_loss.default: (2, 1, True),
    _ATEN.huber_loss.default: (2, 1, False),
    _ATEN.soft_margin_loss.default: (2, 1, False),
    _ATEN.binary_cross_entropy.default: (3, 0, True),
    _ATEN.binary_cross_entropy_with_logits.default: (4, 2, False),
}
"""Losses whose kernels compute the loss of each element before they reduce it: where
their argument `reduction` is (0 is none); how many tensors of all elements live while
the kernel runs; whether the result, a number, keeps a storage of that size. It is so on
the CPU and in CUDA, whose kernels resize what they return."""

IN_PLACE = {
    _ATEN.scatter.src: _ATEN.scatter_.src,
    _ATEN.scatter_add.default: _ATEN.scatter_add_.default,
    _ATEN.index_add.default: _ATEN.index_add_.default,
    _ATEN.index_put.default: _ATEN.index_put_.default,
}
"""What backward passes write into zeros in place, except under a dispatch mode."""

HELD_BY_BUFFER = 4
"""Uses of a gradient's tensor that only autograd's buffer holds, as a mode sees it:
the buffer, the call's operand, its Python object and our list of arguments."""


class UnreadableValue(RuntimeError):
    """Raised where a program reads a value that is not there."""


class StorageNote:
    """What becomes known of a storage while it lives."""

    __slots__ = ("device", "kind", "module", "op", "ran_at", "saved_at", "site")

    def __init__(self, kind: str, op: str, module: str, site: Site) -> None:
        self.kind = kind
        self.op = op
        self.module = module
        self.site = site
        self.saved_at = -1
        self.device = ""  # that is claimed, in a rehearsal
        self.ran_at: Site = ()  # in backward, where the pass was called


class StorageEvents(TorchDispatchMode):
    """Records the storages of all tensors that operators return.

    `has_host` says whether tensors on the CPU count too. Everything that the program
    makes is data-free, whatever device it names. `processors` are those of the GPU
    whose kernels run: what these take for themselves is recorded with them.
    """

    def __init__(
        self,
        modules: list[tuple[str, nn.Module]],
        has_host: bool = True,
        processors: Processors | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.has_host = has_host
        self.processors = processors
        self.workspaces: tuple[set[str], set[str]] = set(), set()  # backward's last
        self.paths = {id(module): path for path, module in reversed(modules)}
        self.running: list[str] = []
        self.sites = Sites()
        self.events: list[Event] = []
        self.notes: list[StorageNote] = []
        self.live: dict[int, tuple[Any, int]] = {}
        self.sizes: dict[int, int] = {}
        self.phase, self.step = SETUP, 0
        self.calls: dict[int, tuple[str, str, Site]] = {}  # by autograd's number
        self.copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.counts = KernelCounts()
        self.is_counting = False
        self.generation: Generation | None = None
        self.frames = 0  # of the program, around the backward pass that runs

    # -- storages ----------------------------------------------------------------------

    def add(
        self, tensor: torch.Tensor, kind: str, op: str = "", site: Site = ()
    ) -> int:
        """Note a tensor's storage, and return its number; -1 if it does not count."""
        if tensor.layout is not torch.strided:
            return -1
        if not tensor.is_meta and not self.has_host:
            return -1
        storage = tensor.untyped_storage()
        key = storage._cdata
        known = self.live.get(key)
        if known is not None and known[0]() is not None:
            return known[1]
        number = len(self.notes)
        self.notes.append(StorageNote(kind, op, self._get_module(), site))

        def forget(_: Any) -> None:
            if self.live.get(key, (None, -1))[1] == number:
                del self.live[key]
            self._tell(FREE, number, 0)

        self.live[key] = weakref.ref(storage, forget), number
        self._tell(ALLOCATE, number, storage.nbytes())
        return number

    def claim(self, tensor: torch.Tensor, kind: str) -> None:
        """Say what a tensor's storage holds."""
        number = self.add(tensor, kind)
        if number >= 0:
            self.notes[number].kind = kind

    def _tell(self, action: str, number: int, size: int) -> None:
        self.sizes[number] = size
        self.events.append(Event(action, number, size, self.step, self.phase))

    def _resize(self, storage: Any) -> None:
        known = self.live.get(storage._cdata)
        if known is None:
            return
        size = storage.nbytes()
        if size != self.sizes[known[1]]:
            self._tell(RESIZE, known[1], size)

    # -- calls -------------------------------------------------------------------------

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        args, kwargs = self._replace_data(func, args, kwargs or {})
        tensors = collect_operands((*args, *kwargs.values()))
        if func in _READS:
            return _read_value(func, args, self.phase == STEP)
        node = get_autograd_node()
        if node is not None and func is _ATEN.add.Tensor and is_summed_in_place(args):
            args[0].add_(args[1])
            return args[0]
        if node is not None and func in IN_PLACE and self._is_new(args[0]):
            return IN_PLACE[func](*args, **kwargs)
        converted = self._convert_operands(func, tensors) if self.has_host else []
        output = compute_quickly(func, args, kwargs)
        if func in LOSSES:
            output = self._keep_elements(func, args, output)
        if isinstance(output, torch.Tensor | tuple | list):
            follow_values(func, args, kwargs, tensors, output)
            scratch = self._find_scratch(func, args, node, output)
            place = self.phase, self._note_outputs(func, tensors, node, output, scratch)
            if self.is_counting:
                self.counts.add(place, func, (args, kwargs), tensors, output)
        elif self.is_counting and func._schema.is_mutable:  # returns nothing
            place = self.phase, ""
            self.counts.add(place, func, (args, kwargs), tensors, output)
        converted.clear()  # after the result is noted
        return output

    def _convert_operands(
        self, func: Any, tensors: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Return what a pointwise kernel of the CPU holds while it runs.

        It converts operands of another dtype than the result's before it computes; a
        GPU converts each element on its way.
        """
        floats = [t for t in tensors if t.dim() and t.is_floating_point()]
        if len({t.dtype for t in floats}) < 2 or torch.Tag.pointwise not in func.tags:
            return []
        common = floats[0].dtype
        for tensor in floats[1:]:
            common = torch.promote_types(common, tensor.dtype)
        converted = [
            torch.empty_like(t, dtype=common) for t in floats if t.dtype != common
        ]
        for tensor in converted:
            self.add(tensor, TEMPORARY, func._schema.name.removeprefix("aten::"))
        return converted

    def _note_outputs(
        self,
        func: Any,
        tensors: list[torch.Tensor],
        node: Any,
        output: Any,
        scratch: Sequence[Wave] = (),
    ) -> str:
        """Note the storages of what a call returned, and those that it resized; return
        the path of the module that called.

        `node` is that of autograd whose backward runs. Its storages belong to the line
        of the call whose gradient it is, unless it computes a forward pass again.
        """
        site = ran_at = self.sites.here()
        op, module = func._schema.name.removeprefix("aten::"), ""
        number = get_sequence_number()
        if node is None or len(site) > self.frames:
            module = self._get_module()
            if func is not _ATEN.detach.default:  # it has no node
                self.calls.setdefault(number, (op, module, site))
        else:
            forward = self.calls.get(node._sequence_nr() + 1)
            if forward is not None:
                _, module, site = forward
        outputs = output if isinstance(output, _LISTS) else (output,)
        count, held = len(self.notes), list[int]()
        if self.processors is not None and func is _ATEN.native_dropout.default:
            outputs = outputs[::-1]  # a GPU's kernel takes the mask first
        for place, value in enumerate(outputs):
            for tensor in collect_operands((value,)):
                self.add(tensor, TEMPORARY, op, site)
            for wave in scratch:
                if wave.place == place:
                    held += self._take(op, site, wave)
        for wave in scratch:
            if wave.place >= len(outputs):
                held += self._take(op, site, wave)
        for number in held:
            self._tell(FREE, number, 0)
        for note in self.notes[count:]:
            note.ran_at = ran_at
            note.module = module or note.module
        if func._schema.is_mutable:
            for tensor in tensors:
                if tensor.is_meta:
                    self._resize(tensor.untyped_storage())
        return module

    def _find_scratch(
        self, func: Any, args: tuple[Any, ...], node: Any, output: Any
    ) -> Sequence[Wave]:
        """Return what the kernel of a GPU takes for itself."""
        if self.processors is None:
            return ()
        held = self.workspaces[node is not None]
        kept = find_new_workspaces(func, args, held, self.processors)
        scratch = list_scratch(func, args, output, self.processors)
        return (*kept, *scratch) if kept else scratch

    def _take(self, op: str, site: Site, wave: Wave) -> Sequence[int]:
        """Note bytes that a kernel takes, and return what it has not given back."""
        numbers = range(len(self.notes), len(self.notes) + len(wave.sizes))
        for number, size in zip(numbers, wave.sizes, strict=True):
            self.notes.append(StorageNote(WORKSPACES, op, self._get_module(), site))
            self._tell(ALLOCATE, number, size)
        if wave.is_whole:
            return numbers
        if not wave.is_kept:
            for number in numbers:
                self._tell(FREE, number, 0)
        return ()

    def _is_new(self, tensor: torch.Tensor) -> bool:
        """Return whether a tensor is the zeros that a backward pass has just made."""
        known = self.live.get(tensor.untyped_storage()._cdata)
        return (
            known is not None
            and known[1] == len(self.notes) - 1
            and self.notes[-1].op in ("zeros", "new_zeros")
        )

    def _get_module(self) -> str:
        """Return the path of the module that runs."""
        return self.running[-1] if self.running else ""

    def _keep_elements(self, func: Any, args: tuple[Any, ...], output: Any) -> Any:
        """Return a loss with the storage that its kernel leaves it."""
        place, scratch, is_kept = LOSSES[func]
        if (args[place] if place < len(args) else 1) == 0:
            return output
        elements = torch.empty_like(torch.broadcast_tensors(*args[:2])[0])
        if is_kept:
            output = torch.empty_like(elements).as_strided((), ())
            self.add(output, TEMPORARY, func._schema.name[6:], self.sites.here())
        buffers = [torch.empty_like(elements) for _ in range(scratch)]
        for buffer in buffers:
            self.add(buffer, TEMPORARY, func._schema.name[6:])
        return output

    def _replace_data(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments without data, and with `meta` for every device."""
        tensors = collect_operands((*args, *kwargs.values()))
        if any(not tensor.is_meta and tensor.dim() for tensor in tensors):
            args, kwargs = tree_map(self._replace_tensor, (args, kwargs))
        if "device" in kwargs or (not tensors and _has_device_argument(func)):
            is_host = func is _ATEN.lift_fresh.default
            kwargs = {**kwargs, **({} if is_host else {"device": _META})}
            kwargs.pop("pin_memory", None)
        return args, kwargs

    def _replace_tensor(self, value: Any) -> Any:
        """Return a data-free copy of a tensor with data, the same one each time."""
        if not isinstance(value, torch.Tensor) or value.is_meta or not value.dim():
            return value
        known = self.copies.get(id(value))
        if known is None:
            copy = copy_without_data(value)
            known = self.copies[id(value)] = value, copy
            self.add(copy, BUFFERS)
        return known[1]

    # -- autograd ----------------------------------------------------------------------

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note that autograd saves a tensor for backward, and return what it keeps.

        That is an alias: a node that kept the very tensor that it made would keep
        itself alive.
        """
        number = self.add(tensor, TEMPORARY, "", self.sites.here())
        if number >= 0:
            note = self.notes[number]
            if note.kind == TEMPORARY and not self._is_setup():
                note.kind = ACTIVATIONS
            if note.saved_at < 0:
                note.saved_at = get_sequence_number()
        return tensor.detach()

    def _is_setup(self) -> bool:
        """Return whether models and data are still being made."""
        return self.phase == SETUP

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Record within the block, also which module runs and what autograd saves."""
        original = torch.UntypedStorage.resize_
        is_inherited = "resize_" not in vars(torch.UntypedStorage)

        def resize(storage: Any, *args: Any, **kwargs: Any) -> Any:
            output = original(storage, *args, **kwargs)
            self._resize(storage)
            return output

        def begin(module: nn.Module, args: Any) -> None:
            outer = self.running[-1] if self.running else ""
            self.running.append(self.paths.get(id(module), outer))

        def end(module: nn.Module, args: Any, output: Any) -> None:
            if self.running:
                self.running.pop()

        hooks = [register_module_forward_pre_hook(begin)]
        hooks.append(register_module_forward_hook(end, always_call=True))
        torch.UntypedStorage.resize_ = resize  # type: ignore[assignment]
        saving = torch.autograd.graph.saved_tensors_hooks(self.save, lambda t: t)
        try:
            with self, saving:
                yield
        finally:
            if is_inherited:
                del torch.UntypedStorage.resize_
            else:
                torch.UntypedStorage.resize_ = original  # type: ignore[method-assign]
            for hook in hooks:
                hook.remove()


_META = torch.device("meta")


def collect_operands(values: Iterable[Any]) -> list[torch.Tensor]:
    """Return the tensors of an operator's arguments, or of what it returned.

    An operator takes tensors and lists of them, and returns no more than that.
    """
    tensors = []
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, _LISTS):
            tensors += [item for item in value if isinstance(item, torch.Tensor)]
    return tensors


def _has_device_argument(func: Any) -> bool:
    return any(argument.name == "device" for argument in func._schema.arguments)


def _read_value(func: Any, args: tuple[Any, ...], is_free: bool) -> Any:
    """Return the number that a program reads, if it is known.

    An optimizer reads norms to scale its step (Adafactor): there any number will do,
    `is_free`.
    """
    (tensor,) = args
    value = get_value(tensor) if tensor.is_meta else tensor
    if value is None and is_free:
        value = torch.ones((), dtype=tensor.dtype)
    if value is None:
        shape = tuple(tensor.shape)
        raise UnreadableValue(
            f"the program reads a value of a {shape} tensor, which depends on data"
        )
    return func(value)


def is_summed_in_place(args: tuple[Any, ...]) -> bool:
    """Return whether autograd adds a second gradient into the first.

    It does so if nothing else holds the first, but never under a dispatch mode: this is
    where the mode must do it itself.
    """
    first, second = args[:2]
    return (
        isinstance(first, torch.Tensor)
        and isinstance(second, torch.Tensor)
        and first.shape == second.shape
        and first.dtype == second.dtype
        and count_uses(first) <= HELD_BY_BUFFER
        and first.untyped_storage().nbytes() == first.numel() * first.itemsize
        and count_storage_uses(first) <= 2
    )


def copy_without_data(tensor: torch.Tensor, is_known: bool = True) -> torch.Tensor:
    """Return a tensor without data like `tensor`; if it is small, values stay known.

    They are copied, since the program may write them.
    """
    copy = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta"
    )
    if is_known and not tensor.is_meta and tensor.numel() <= LIMIT:
        set_value(copy, tensor.detach().clone())
    return copy
