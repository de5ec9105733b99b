"""Calls that no mode sees: custom functions, hooks, transforms, `set_`, `Variable`.

torch deactivates all modes while `backward` runs, so without this module a checkpoint
would recompute its forward pass for real, on the user's weights.

`AdamW(fused=True)` and `clip_grad_norm_` group tensors in C++ by their physical device
and dtype, not by those that a tensor claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
import torch._functorch.eager_transforms
import torch._functorch.vmap
import torch.autograd.forward_ad
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import saved_tensors_hooks

from shapewright.engine import nests
from shapewright.engine.identity import BLANK, THEIRS, VALUED, Info, Meta, intern_meta
from shapewright.engine.private import GROUPING, patch_unless_aside
from shapewright.engine.replacement import (
    copy_attributes,
    make_resembling,
    replace_attribute,
)

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


@contextmanager
def watch_apply(engine: Engine) -> Iterator[None]:
    """Make `Function.apply` pass stand-ins to autograd and keep its results' nodes."""
    kind = torch.autograd.Function
    original = kind.__dict__["apply"]

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        from shapewright.engine.engine import NeedsGraph

        called = original.__get__(None, cls)
        if (
            getattr(cls, "of_ours", False)
            or get_ident() not in engine.threads
            or not torch.is_grad_enabled()
            or not any(
                engine.info(value).meta.requires_grad
                for value in nests.collect_tensors(args)
            )
        ):
            return called(*args, **kwargs)
        if not engine.graph:
            raise NeedsGraph(cls.__name__)
        with torch._C.DisableTorchFunction():
            ready = nests.swap_tensors(
                args, lambda value: _make_stand_in(engine, value)
            )
        out = called(*ready, **kwargs)
        with torch._C.DisableTorchFunction():
            nests.visit_tensors(out, lambda value: _refresh_info(engine, value))
            _claim_gradients(engine, out)
        return out

    kind.apply = copy_attributes(classmethod(apply), original)  # type: ignore[assignment]
    try:
        yield
    finally:
        kind.apply = original  # type: ignore[method-assign]


def _make_stand_in(
    engine: Engine, value: torch.Tensor, keep_values: bool = True
) -> torch.Tensor:
    """Return a data-free stand-in with the same identity; integers keep their values.

    The user's own tensors must not enter the graph, and in it no device may mix: within
    a transform the engine cannot put a stand-in in their place later.
    """
    info = engine.info(value)
    whole = not (value.is_floating_point() or value.is_complex())
    if info.kind == BLANK or (keep_values and whole and info.storage.known):
        return value
    twin = engine.blank_of(value)
    new = Info(info.meta, info.storage, BLANK, info.grad_fn, info.number)
    return engine.tell(twin, new)


def _refresh_info(engine: Engine, value: torch.Tensor) -> None:
    """Read the metadata of a result again after autograd has given it a node."""
    if not value.requires_grad:
        return
    info = engine.info(value)
    name = value.grad_fn.name() if value.grad_fn is not None else None
    meta = intern_meta(engine.memo.metas, value, info.meta.device, True)
    engine.retell(value, Info(meta, info.storage, info.kind, name, info.number))


def _claim_gradients(engine: Engine, out: Any) -> None:
    """Keep, at the node of a custom function, the devices that the results claim: the
    gradients that its `backward` gets are there.
    """
    outputs = out if isinstance(out, tuple) else (out,)
    tensors = [value for value in outputs if isinstance(value, torch.Tensor)]
    node = next((v.grad_fn for v in tensors if v.grad_fn is not None), None)
    if isinstance(node, BackwardCFunction):
        node._sw_devices = [
            engine.info(value).meta.device if isinstance(value, torch.Tensor) else None
            for value in outputs
        ]


def _adopt_gradients(engine: Engine, node: Any, gradients: tuple[Any, ...]) -> None:
    """Let the gradients of a custom function's results claim the devices of these."""
    devices = getattr(node, "_sw_devices", ())
    for gradient, device in zip(gradients, devices, strict=False):
        claims = isinstance(gradient, torch.Tensor) and device not in (
            None,
            engine.home,
        )
        if claims and not engine.known(gradient):
            engine.adopt(gradient, device)


ENTRIES = (
    (torch._functorch.vmap, "_add_batch_dim"),
    (torch._functorch.eager_transforms, "_wrap_for_grad"),
    (torch.autograd.forward_ad, "make_dual"),
)
"""Functions with which a transform wraps a tensor."""


@contextmanager
def watch_transforms(engine: Engine) -> Iterator[None]:
    """Make `torch.func` transforms wrap data-free tensors."""
    with ExitStack() as stack:
        for module, name in ENTRIES:
            stack.enter_context(
                _wrap_function(module, name, _make_entry_wrapper(engine))
            )
        for module, name in EXITS:
            stack.enter_context(
                _wrap_function(module, name, _make_exit_wrapper(engine))
            )
        yield


EXITS = ((torch._functorch.vmap, "_remove_batch_dim"),)
"""Functions with which a transform unwraps a tensor."""


Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@contextmanager
def _wrap_function(module: Any, name: str, wrap: Wrap) -> Iterator[None]:
    """Wrap a function of torch during the run."""
    original = vars(module)[name]
    wrapped = make_resembling(original, wrap)
    setattr(module, name, wrapped)
    try:
        yield
    finally:
        if vars(module)[name] is wrapped:
            setattr(module, name, original)


def _make_exit_wrapper(engine: Engine) -> Wrap:
    """Return a wrapper that gives an unwrapped tensor its wrapper's claimed device."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave(wrapped: Any, *args: Any, **kwargs: Any) -> Any:
            out = original(wrapped, *args, **kwargs)
            if get_ident() in engine.threads and isinstance(wrapped, torch.Tensor):
                claim = engine.info(wrapped).meta.device
                if claim != engine.home and not engine.known(out):
                    engine.adopt(out, claim)
            return out

        return leave

    return wrap


def _make_entry_wrapper(engine: Engine) -> Wrap:
    """Return a wrapper that passes data-free stand-ins to a transform."""
    from shapewright.engine.engine import NeedsGraph

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def enter(*args: Any, **kwargs: Any) -> Any:
            if get_ident() not in engine.threads:
                return original(*args, **kwargs)
            if not engine.graph:
                raise NeedsGraph(original.__name__)
            with torch._C.DisableTorchFunction():
                args, kwargs = nests.swap_tensors(
                    (args, kwargs), lambda value: _make_stand_in(engine, value, False)
                )
            return original(*args, **kwargs)

        return enter

    return wrap


@contextmanager
def keep_storages(engine: Engine) -> Iterator[None]:
    """Make `set_` only claim the new storage, so that a user's tensor keeps its own."""
    original = torch.Tensor.set_

    def set_(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        # In our own calls our mode is off: use torch's method.
        if engine not in torch.overrides._get_current_function_mode_stack():
            return original(tensor, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            return _claim_storage(engine, original, tensor, args, kwargs)

    copy_attributes(set_, original)

    def patch() -> None:
        torch.Tensor.set_ = set_  # type: ignore[method-assign, assignment]

    def unpatch() -> None:
        del torch.Tensor.set_

    with patch_unless_aside(patch, unpatch):
        yield


def _claim_storage(
    engine: Engine, original: Any, tensor: Any, args: Any, kwargs: Any
) -> torch.Tensor:
    """Apply `set_` to a stand-in and update the info of the tensor."""
    info = engine.info(tensor)
    source = kwargs.get("source", args[0] if args else None)
    source_info = engine.info(source) if isinstance(source, torch.Tensor) else None
    if source_info is None and info.kind != THEIRS:
        if isinstance(source, torch.UntypedStorage) and source.device != tensor.device:
            engine.note("`set_` to a storage: what shares it is not known")
            source = torch.UntypedStorage(source.nbytes(), device=tensor.device)
            args = (source, *args[1:])
            info.storage.known = False
        original(tensor, *args, **kwargs)
        meta = intern_meta(
            engine.memo.metas, tensor, info.meta.device, info.meta.requires_grad
        )
        engine.retell(tensor, Info(meta, info.storage, info.kind, None, info.number))
        return tensor  # type: ignore[no-any-return]
    if info.kind == VALUED and source_info is not None and source_info.kind == VALUED:
        original(tensor, source)
        meta = intern_meta(engine.memo.metas, tensor, info.meta.device, False)
        engine.retell(
            tensor, Info(meta, source_info.storage, VALUED, None, info.number)
        )
        return tensor  # type: ignore[no-any-return]
    if source_info is None:
        shape = kwargs.get("size", args[2] if len(args) > 2 else info.meta.shape)
        blank = torch.empty(shape, dtype=tensor.dtype, device="meta")
        storage = info.storage
        storage.known = False
    else:
        blank, storage = engine.blank_of(source), source_info.storage
    meta = intern_meta(
        engine.memo.metas, blank, info.meta.device, info.meta.requires_grad
    )
    kind = BLANK if info.kind == BLANK else THEIRS  # stood in for, from now on
    new = Info(meta, storage, kind, info.grad_fn, info.number)
    new.twin = blank.detach()
    if engine.graph and info.meta.requires_grad:
        new.twin.requires_grad_()
    if kind == BLANK:
        tensor.data = blank.detach()
    engine.retell(tensor, new)
    return tensor  # type: ignore[no-any-return]


Groups = dict[tuple[torch.device, torch.dtype], tuple[list[list[Any]], list[int]]]

STEPS = frozenset({torch.float32, torch.float64})
"""Dtypes of step counters, whatever dtype the parameters have."""


@contextmanager
def group_claimed_tensors(engine: Engine) -> Iterator[None]:
    """Make torch group tensors by their claimed device and dtype during a run."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def group(tensorlistlist: list[list[Any]], with_indices: bool = False) -> Any:
            if get_ident() not in engine.threads:
                return original(tensorlistlist, with_indices)
            with torch._C.DisableTorchFunction():
                return _group_tensors(engine, tensorlistlist, with_indices)

        return group

    if not hasattr(*GROUPING):
        yield
        return
    with replace_attribute(*GROUPING, make):
        yield


def _group_tensors(
    engine: Engine, lists: list[list[Any]], with_indices: bool = False
) -> Groups:
    """Group the first list's tensors by device and dtype, with their companions.

    Example: parameters in float32 and bfloat16 form two groups; each has as many
    lists as `lists`, and the indices of its tensors.
    """
    groups: Groups = {}
    for place, first in enumerate(lists[0]):
        meta = engine.info(first).meta
        row = [tensors[place] if tensors else None for tensors in lists]
        for tensor in row:
            if tensor is not None and not _is_grouped_with(
                engine.info(tensor).meta, meta
            ):
                engine.raise_theirs(RuntimeError(
                    "Tensors of the same index must be on the same device and the same "
                    "dtype except `step` tensors that can be CPU and float32/64 "
                    "notwithstanding"
                ))  # fmt: skip
        key = torch.device(meta.device), meta.torch_dtype
        columns, places = groups.setdefault(key, ([[] for _ in lists], []))
        for column, tensors, tensor in zip(columns, lists, row, strict=True):
            if tensors:
                column.append(tensor)
        if with_indices:
            places.append(place)
    return groups


def _is_grouped_with(meta: Meta, first: Meta) -> bool:
    """Return whether torch groups a tensor with a parameter; steps may be on CPU."""
    if meta.device == first.device:
        lower = meta.torch_dtype is torch.bfloat16  # an optimizer's state may be
        return meta.torch_dtype in (first.torch_dtype, *STEPS) or lower
    return meta.device == "cpu" and meta.torch_dtype in STEPS


@contextmanager
def watch_variables(engine: Engine) -> Iterator[None]:
    """Make `torch.autograd.Variable(x)` the detached alias that it is, as one that is
    seen: its constructor is torch's own, which calls no function of a tensor.
    """
    kind: Any = torch.autograd.Variable

    def new(
        cls: Any,
        data: Any = None,
        requires_grad: bool = False,
        *args: Any,
        **named: Any,
    ) -> Any:
        if not isinstance(data, torch.Tensor) or get_ident() not in engine.threads:
            arguments = () if data is None else (data, requires_grad, *args)
            return torch._C._LegacyVariableBase.__new__(cls, *arguments, **named)
        alias = data.detach()
        return alias.requires_grad_() if requires_grad else alias

    outer = vars(kind).get("__new__")  # of a run around this one
    kind.__new__ = copy_attributes(new, kind.__new__)
    try:
        yield
    finally:
        if outer is None:
            del kind.__new__
        else:
            kind.__new__ = outer


def wrap_in_mode(engine: Engine, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it runs in the mode of the run."""

    def called(*args: Any, **kwargs: Any) -> Any:
        modes = torch.overrides._get_current_function_mode_stack()
        if engine in modes or get_ident() not in engine.threads:
            return function(*args, **kwargs)
        with engine:
            return function(*args, **kwargs)

    return called


@contextmanager
def watch_backward(engine: Engine) -> Iterator[None]:
    """Run backward methods of custom functions, saved-tensor hooks and the hooks of
    modules in our mode.
    """
    node: Any = BackwardCFunction
    hooks: Any = saved_tensors_hooks
    module: Any = torch.nn.Module
    apply, start = node.apply, hooks.__init__
    registering = {name: getattr(module, name) for name in OF_MODULES}

    def applied(self: Any, *args: Any) -> Any:
        if getattr(self._forward_cls, "of_ours", False):
            return apply(self, *args)
        if get_ident() in engine.threads:
            with torch._C.DisableTorchFunction():
                _adopt_gradients(engine, self, args)
        return wrap_in_mode(engine, apply)(self, *args)

    def started(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
        start(self, wrap_in_mode(engine, pack_hook), wrap_in_mode(engine, unpack_hook))

    def make_registering(original: Any) -> Any:
        def register(self: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            return original(self, wrap_in_mode(engine, hook), *args, **kwargs)

        return copy_attributes(register, original)

    node.apply, hooks.__init__ = (
        copy_attributes(applied, apply),
        copy_attributes(started, start),
    )
    for name, original in registering.items():
        setattr(module, name, make_registering(original))
    try:
        yield
    finally:
        node.apply, hooks.__init__ = apply, start
        for name, original in registering.items():
            setattr(module, name, original)


OF_MODULES = ("register_full_backward_hook", "register_full_backward_pre_hook")
"""Methods whose hooks run within a backward pass, on nodes and not on tensors."""
