"""Calls that return a value to Python: known ones are answered, others assumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.autograd_graph import join_unrecorded
from shapewright.engine.dispatch import memory_overlap, results
from shapewright.engine.function_names import get_display_name, get_plain_name
from shapewright.engine.identity import (
    BLANK,
    THEIRS,
    VALUED,
    Info,
    Storage,
    count_elements,
)
from shapewright.engine.memo import READ, Answer
from shapewright.engine.private import (
    is_batched,
    is_in_dispatch_mode,
    is_in_transform,
)
from shapewright.engine.quick_kernels import QuickKernels
from shapewright.engine.unseen_calls import wrap_in_mode
from shapewright.engine.values import (
    control_flow,
    known_values,
    supposed_values,
    unknown_lengths,
)
from shapewright.engine.values.known_values import GROWING
from shapewright.operators.facts import values_of

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class _GradFn:
    """A stand-in for an autograd node in a run that keeps no graph."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<{self._name} object>"

    def __getattr__(self, attribute: str) -> Any:
        from shapewright.engine.engine import NeedsGraph

        raise NeedsGraph(attribute)


def answer_claim(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `device`, `requires_grad`, `grad_fn` and `is_leaf` as a real run would."""
    name = get_plain_name(func)
    info = engine.info(args[0])
    device = info.meta.device
    if name == "device":
        # A backward pass compares what it recomputes with what it saved below us.
        inside = engine.graph and not (engine.recording or engine.passing)
        return engine.blank_of(args[0]).device if inside else torch.device(device)
    if name == "requires_grad":
        return info.meta.requires_grad
    if name == "is_leaf":
        return info.grad_fn is None
    if name == "grad_fn":
        if engine.graph:
            return func(engine.blank_of(args[0]))
        return None if info.grad_fn is None else _GradFn(info.grad_fn)
    if name == "is_meta" and not (engine.recording or engine.passing):
        return info.kind == BLANK  # initialisers skip what has no data
    if name == "get_device":
        return int(device.partition(":")[2] or 0) if device != "cpu" else -1
    return name == f"is_{device.partition(':')[0]}"


DENSE = {"cpu", "cuda", "mps", "hip", "xpu", "hpu", "mtia"}
"""Devices between which a parameter remains the same object."""


def is_compatible(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> bool:
    """Return whether `x.data = y` is possible, which `module.to` checks.

    As in `TensorImpl::has_compatible_shallow_copy_type`: from CPU to GPU, too.
    """
    meta, other_meta = (engine.info(value).meta for value in args)
    here, there = (side.device.partition(":")[0] for side in (meta, other_meta))
    return meta.layout == other_meta.layout and (
        here == there or {here, there} <= DENSE
    )


def answer_grad(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `x.grad`, which a stand-in holds if the tensor belongs to the user."""
    gradient = _find_grad(engine, func, args)
    if engine.grads_read is not None and isinstance(gradient, Tensor):
        engine.grads_read[id(args[0])] = args[0], gradient
    return gradient


def _find_grad(engine: Engine, func: Any, args: Args) -> Any:
    """Return the gradient that a run computed or that the program assigned."""
    target = args[0]
    info = engine.info(target)
    gradient = engine.grads.get(id(target))
    if gradient is not None:
        return gradient
    if info.twin is not None and info.twin.grad is not None:
        return _claim_gradient(engine, info.twin.grad, target)
    if id(target) in engine.grads:
        return None
    if info.kind == THEIRS:
        return func(target) if not engine.graph else None
    return _claim_gradient(engine, engine.run(func, args, {}), target)


def _claim_gradient(engine: Engine, gradient: Any, owner: Any) -> Any:
    """Make a computed gradient claim the device of its tensor."""
    tensors = isinstance(gradient, Tensor) and isinstance(owner, Tensor)
    if tensors and not engine.known(gradient):
        engine.adopt(gradient, engine.info(owner).meta.device)
    return gradient


def answer_gradient(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Answer `backward`, `torch.autograd.grad`, `register_hook`; they need a graph."""
    from shapewright.engine.engine import NeedsGraph

    if not engine.graph and not is_in_transform():
        raise NeedsGraph(get_plain_name(func))
    if "hook" in get_plain_name(func):
        args = tuple(wrap_in_mode(engine, v) if callable(v) else v for v in args)
    swapped = nests.swap_tensors((args, kwargs or {}), engine.blank_of)
    if (kwargs or {}).get("create_graph"):
        engine.switch_graph_reuse(False)
        engine.memo.hung.clear()  # a later run with this memory asks the same
    elif get_plain_name(func) == "grad" and not (kwargs or {}).get("retain_graph"):
        for loss in nests.collect_tensors(args[:1]):
            engine.note_differentiation(loss)
    is_seen = is_in_dispatch_mode()  # who looks at the kernels is to see them all
    is_seen |= bool((kwargs or {}).get("create_graph"))
    with _disable_nan_checks(), nullcontext() if is_seen else QuickKernels():
        out = engine.run(func, *swapped)
    if get_plain_name(func) == "grad":
        of = args[1]  # torch passes them on as a tuple
        for gradient, owner in zip(out, of, strict=False):
            _claim_gradient(engine, gradient, owner)
    infos = [engine.info(value) for value in nests.collect_tensors((args, kwargs))]
    outs = tuple(engine.info(value) for value in nests.collect_tensors(out))
    answer = Answer(
        func,
        results.convert_for_record(engine, args, kwargs or {}),
        READ,
        tuple(info.meta for info in outs),
        tuple(info.grad_fn for info in outs),
        notes=("backward pass",),
    )
    engine.record(answer, infos, outs)
    return out


@contextmanager
def _disable_nan_checks() -> Iterator[None]:
    """Disable the NaN check of `detect_anomaly`, as gradients have no data."""
    if not torch.is_anomaly_enabled():
        yield
        return
    check = torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(True, False)
    try:
        yield
    finally:
        torch.set_anomaly_enabled(True, check)


REPRESENTATIVE = values_of("has_representative")


def answer_value(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `item()`, `bool(x)`, `tolist()`, `numpy()`, which return values."""
    name = get_plain_name(func)
    tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(tensor) for tensor in tensors]
    if name in ("__repr__", "__str__"):
        return format_tensor(infos[0])
    if name == "__format__":
        return _answer_format(engine, func, args, infos[0])
    if name in ("numpy", "__array__") and infos:
        force = (kwargs or {}).get("force", args[1] if len(args) > 1 else False)
        _check_for_numpy(engine, infos[0], name == "numpy" and bool(force))
    if any(is_batched(tensor) for tensor in tensors[:1]):
        _check_for_vmap(engine, name)
    known = bool(infos) and all(info.storage.known for info in infos)
    if known:
        assumed = next((i.storage.assumed for i in infos if i.storage.assumed), None)
        if assumed:
            engine.assume(f"a value was read that is {assumed}")
        swapped = nests.swap_tensors((args, kwargs or {}), engine.value_of)
        out = engine.run(func, *swapped)
    else:
        _check_one(engine, name, infos)
        out, sure = _suppose_value(engine, name, infos[0])
        if not sure:
            shown = _format_short(out)
            engine.assume(
                f"`{get_display_name(func)}` of unknown data taken as {shown}"
            )
            engine.chosen.add(out)
        if name == "numpy" and engine.watched_array is not None:
            out = engine.watched_array(out)
    answer = Answer(func, results.convert_for_record(engine, args, kwargs or {}), READ)
    engine.record(answer, infos, ())
    return out


def _answer_format(engine: Engine, func: Any, args: Args, info: Info) -> str:
    """Answer `f"{x}"`: as in torch, a 0-dim tensor is formatted as its number.

    No other tensor accepts a format, nor does a parameter, whatever its dims.
    """
    kind, how = type(args[0]), args[1]
    plain = not info.meta.shape and kind is Tensor
    if how and not plain:
        words = f"unsupported format string passed to {kind.__name__}.__format__"
        engine.raise_theirs(TypeError(words))
    if info.storage.known:
        return str(engine.run(func, (engine.value_of(args[0]), how), {}))
    if not plain:
        return format_tensor(info)
    out, _ = _suppose_value(engine, "item", info)
    engine.chosen.add(out)
    engine.assume(f"unknown data in text shown as {_format_short(out)}")
    return str(engine.run(format, (out, how), {}))


def _suppose_value(engine: Engine, name: str, info: Info) -> tuple[Any, bool]:
    """Return the value that represents unknown data, and whether it is certain.

    If a loop waits for the value, it finally becomes a value that ends the loop.
    """
    if name in ("equal", "allclose", "__contains__"):
        return not control_flow.is_loop_over(engine), False
    if info.meta.layout != "strided":
        return _choose_representative(name, info), False
    if name in ("__bool__", "is_nonzero"):
        guess = supposed_values.guess_truth(engine, info)
        out: Any = bool(guess.value)
        if not guess.sure and control_flow.is_loop_over(engine):
            out = not out
    else:
        guess = supposed_values.guess_value(engine, info)
        out = _as_python(name, guess.value, info)
        if type(out) is bool and not guess.sure and control_flow.is_loop_over(engine):
            out = not out
        elif type(out) in (int, float) and not guess.sure:
            least, most = supposed_values.find_range(engine, info)
            out = control_flow.choose_number(engine, out, least, most)
    if count_elements(info.meta.shape) == 1 and type(out) in (bool, int, float):
        supposed_values.fix_value(engine, info, out)
    return out, guess.sure


def answer_representative(engine: Engine, name: str, info: Info) -> Any:
    """Return the value with which a run goes on after a refused read."""
    return _suppose_value(engine, name, info)[0]


def _as_python(name: str, value: Tensor, info: Info) -> Any:
    """Convert a representative to the Python value that the reading call returns."""
    large = value.numel() > supposed_values.LARGEST
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if name in ("numpy", "__array__", "__dlpack__"):
            dtype = torch.float32 if value.dtype == torch.bfloat16 else value.dtype
            value = value.to(dtype)
            if large and not value.is_contiguous():
                return value.numpy()  # one number in memory
            return value.clone(memory_format=torch.contiguous_format).numpy()
        if name == "tolist":
            if not large:
                return value.tolist()
            nest: Any = value.flatten()[0].item()
            for size in reversed(info.meta.shape):
                nest = [nest for _ in range(min(size, 1 << 20))]
            return nest
        kind = KINDS_OF_NUMBERS.get(name)
        number = value.item()
        return number if kind is None else kind(number)


KINDS_OF_NUMBERS: dict[str, Any] = {
    "__int__": int, "__index__": int, "__float__": float, "__complex__": complex,
}  # fmt: skip


def _check_one(engine: Engine, name: str, infos: list[Info]) -> None:
    """Raise torch's error unless a tensor read by `item` or `bool` has one element."""
    if name not in ("item", "__bool__", "__int__", "__float__", "__index__"):
        return
    count = count_elements(infos[0].meta.shape)
    if count == 1:
        return
    if name == "__bool__":
        text = (
            "Boolean value of Tensor with no values is ambiguous"
            if count == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    elif name == "__index__":
        engine.raise_theirs(
            TypeError(
                "only integer tensors of a single element can be converted to an index"
            )
        )
    else:
        text = f"a Tensor with {count} elements cannot be converted to Scalar"
    engine.raise_theirs(RuntimeError(text))


def _check_for_vmap(engine: Engine, name: str) -> None:
    """Raise torch's error for a number that is read of the samples of `vmap`."""
    if name in ("__bool__", "is_nonzero"):
        engine.raise_theirs(RuntimeError(f"{VMAP_OF_TRUTH} {VMAP_ISSUE}"))
    if name == "item" or name in KINDS_OF_NUMBERS:
        engine.raise_theirs(RuntimeError(VMAP_OF_NUMBER))


VMAP_OF_TRUTH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent"
    " control flow."
)
VMAP_ISSUE = (
    "We don't support that yet, please file an issue at"
    " https://github.com/pytorch/pytorch/issues ."
)
VMAP_OF_NUMBER = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over"
    " calling .item() on a Tensor, please try to rewrite what you're doing with other"
    " operations. If error is occurring somewhere inside PyTorch internals, please file"
    " a bug report."
)
"""What torch says of a number, or of a truth, that is read inside `torch.vmap`."""


def _check_for_numpy(engine: Engine, info: Info, force: bool) -> None:
    """Raise torch's error for a tensor that NumPy cannot share memory with."""
    meta = info.meta
    if force or is_in_transform():
        return
    if meta.device not in ("cpu", "meta"):
        words = f"can't convert {meta.device} device type tensor to numpy. Use "
        words += "Tensor.cpu() to copy the tensor to host memory first."
        engine.raise_theirs(TypeError(words))
    if meta.requires_grad and torch.is_grad_enabled():
        words = "Can't call numpy() on Tensor that requires grad. Use "
        words += "tensor.detach().numpy() instead."
        engine.raise_theirs(RuntimeError(words))
    if meta.dtype == "bfloat16":
        engine.raise_theirs(TypeError("Got unsupported ScalarType BFloat16"))


def _format_short(value: Any) -> str:
    """Return a representative value as short text."""
    text = repr(value)
    return text if len(text) < 30 else f"{text[:27]}..."


def format_tensor(info: Info) -> str:
    """Return the text that `print(x)` shows for a tensor without data."""
    meta = info.meta
    return f"tensor(..., size={meta.shape}, dtype={meta.dtype}, device='{meta.device}')"


def _choose_representative(name: str, info: Info) -> Any:
    """Return the value that represents unknown data: one or true."""
    if name in REPRESENTATIVE:
        return REPRESENTATIVE[name]
    dtype = info.meta.torch_dtype
    unit = torch.ones((), dtype=dtype)
    if name in ("numpy", "__array__", "__dlpack__"):
        import numpy

        kind = unit.numpy().dtype if dtype != torch.bfloat16 else numpy.float32
        return numpy.broadcast_to(numpy.ones((), kind), info.meta.shape)
    if name == "tolist":
        nest: Any = unit.item()
        for size in reversed(info.meta.shape):
            nest = [nest for _ in range(min(size, 1 << 20))]
        return nest
    return unit.item()


# -- shapes that depend on values ----------------------------------------------


def find_mask_rows(engine: Engine, mask: Tensor, quiet: bool = False) -> list[Tensor]:
    """Return the index tensors of a boolean mask: known, or half of its elements."""
    info = engine.info(mask)
    if info.storage.known:
        known = engine.value_of(mask).nonzero(as_tuple=True)
        return [_adopt_indices(engine, item, info) for item in known]
    total = count_elements(info.meta.shape)
    rows = supposed_values.guess_count(engine, info)
    if rows and control_flow.is_loop_over(engine):
        rows = 0
        engine.assume("a mask of unknown data keeps none: a loop waits for that")
    elif not quiet:
        share = "" if rows != max(1, total // 2) else "half: "
        engine.assume(f"a mask of unknown data keeps {share}{rows} of {total}")
    indices = [torch.empty(rows, dtype=torch.int64, device="meta") for _ in mask.shape]
    return [_adopt_indices(engine, item, info) for item in indices]


def _adopt_indices(engine: Engine, item: Tensor, info: Info) -> Tensor:
    from shapewright.engine.identity import intern_meta

    device = info.meta.device
    kind = BLANK if item.is_meta else VALUED
    storage = Storage(device, known=kind == VALUED, assumed=info.storage.assumed)
    meta = intern_meta(engine.memo.metas, item, device, False)
    return engine.tell(item, Info(meta, storage, kind))


def answer_data_dependent(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Answer `nonzero`, `unique`, `masked_select`, `repeat_interleave` and others."""
    from shapewright.engine.dispatch.ordinary_calls import call_op
    from shapewright.engine.values import representatives

    kwargs = kwargs or {}
    name = get_plain_name(func)
    tensors = nests.collect_tensors((args, kwargs))
    infos = [engine.info(tensor) for tensor in tensors]
    known = bool(infos) and all(info.storage.known for info in infos)
    if name == "_pack_padded_sequence" and infos[0].meta.device != "cpu":
        return _answer_packing(engine, func, args, kwargs, infos)
    if known and known_values.can_compute(engine, infos):
        done = known_values.compute_known(engine, func, args, kwargs, infos)
        if done is not known_values.TOO_LARGE:
            return done
    if name == "where" and len(args) + len(kwargs) > 1:
        return call_op(engine, func, args, kwargs)
    if name == "repeat_interleave" and isinstance(
        kwargs.get("repeats", args[1] if len(args) > 1 else None), int
    ):
        return call_op(engine, func, args, kwargs)
    if name == "_pack_padded_sequence":
        return _answer_packing(engine, func, args, kwargs, infos)
    if name == "_pad_packed_sequence":
        return call_op(engine, func, args, kwargs)
    if "out" in kwargs:
        memory_overlap.check_overlap(engine, func, name, args, kwargs, infos)
    if name == "repeat_interleave":
        return unknown_lengths.answer_repeat_interleave(
            engine, func, args, kwargs, infos
        )
    return representatives.answer_by_share(engine, func, name, args, kwargs, infos)


__all__ = ["GROWING"]


def _answer_packing(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Answer `pack_padded_sequence`, whose batch sizes stay known if the lengths are.

    Unknown lengths are assumed to be full.
    """
    data, lengths = args[0], args[1]
    first = args[2] if len(args) > 2 else kwargs.get("batch_first", False)
    info = engine.info(lengths)
    if info.meta.device not in ("cpu", "meta"):
        kind = "Long" if info.meta.dtype == "int64" else info.meta.dtype
        words = "'lengths' argument should be a 1D CPU int64 tensor, but got"
        engine.raise_theirs(
            RuntimeError(
                f"{words} {len(info.meta.shape)}D {info.meta.device} {kind} tensor"
            )
        )
    if info.storage.known:
        known = engine.value_of(lengths)
    else:
        longest = data.shape[1 if first else 0]
        known = torch.full(lengths.shape, longest, dtype=torch.int64)
        engine.assume(f"unknown lengths taken as full: {longest}")
    bare = torch.zeros(data.shape[:2])
    _, sizes = engine.run(func, (bare, known, bool(first)), {})
    longest = data.shape[1 if first else 0]
    rows = int(known.clamp(max=longest).sum())  # what is longer ends where they end
    blank = torch.empty((rows, *data.shape[2:]), dtype=data.dtype, device="meta")
    before = [torch.empty(0) for _ in infos]
    grad = torch.is_grad_enabled() and infos[0].meta.requires_grad
    if grad:
        vars(blank)["_sw_node"] = ("PackPaddedSequenceBackward0",)
    blank = join_unrecorded(engine, blank, [data], [])
    result = results.record_results(
        engine, func, args, kwargs, infos, before, [0] * len(infos), (blank, sizes)
    )
    engine.info(result[1]).storage.assumed = info.storage.assumed
    return result


def answer_assert(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """Answer `torch._assert(condition, message)`, a check by the program itself."""
    condition = args[0] if args else (kwargs or {}).get("condition")
    if isinstance(condition, Tensor):
        condition = answer_value(engine, Tensor.__bool__, (condition,), None)
        return engine.run(func, (condition, *args[1:]), {})
    return engine.run(func, args, kwargs or {})
