"""Recording of calls that torch ran, and conversion of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version

from shapewright.engine import nests
from shapewright.engine.devices import find_claimed_device
from shapewright.engine.dispatch import plan_tables
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import (
    BLANK,
    META,
    THEIRS,
    VALUED,
    Info,
    Meta,
    Storage,
    compute_contiguous_stride,
    intern_meta,
    is_whole,
    make_opaque_meta,
)
from shapewright.engine.memo import COPY, INPLACE, NEW, SAME, VIEW, Answer
from shapewright.engine.private import is_transformed
from shapewright.operators.facts import operators_with

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

LAYS_ANEW = operators_with("lays_out_anew")
SIZES_ON_CPU = operators_with("returns_sizes_on_cpu")
Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
INPLACE_OPERATORS = frozenset(
    f"__i{name}__"
    for name in """
    add sub mul truediv div floordiv mod pow and or xor lshift rshift matmul
""".split()
)


def convert_for_record(
    engine: Engine, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    """Return the arguments as they are recorded, with metadata in place of tensors."""
    plain = nests.to_plain((args, kwargs), lambda tensor: engine.info(tensor).meta)
    return plain  # type: ignore[no-any-return]


def record_results(
    engine: Engine,
    func: Any,
    args: Args,
    kwargs: Kwargs,
    infos: list[Info],
    before: list[Tensor],
    versions: list[int],
    out: Any,
    *,
    assumed: str | None = None,
    device: str | None = None,
    flops: int | None = None,
    notes: tuple[str, ...] = (),
    known: bool = True,
) -> Any:
    """Record a call that torch ran and return its results as the program's tensors.

    `before` are the physical tensors that went in, in the order of `infos`; what comes
    out may be one of them, share storage with one, or be new.
    """
    name = get_plain_name(func)
    originals = nests.collect_tensors((args, kwargs))
    written = find_written(func, kwargs, before, versions)
    is_out = "out" in kwargs and name not in LAYS_ANEW
    if device is None:
        device = find_claimed_device(engine, infos, kwargs)
    owners = {
        value.untyped_storage()._cdata: i
        for i, value in enumerate(before)
        if value.layout is torch.strided and not is_transformed(value)
    }
    kind = NEW if written is None else INPLACE
    outs: list[Info] = []

    def hand_out(value: Tensor) -> Tensor:
        nonlocal kind
        for i, physical in enumerate(before):
            if value is physical:
                info = infos[i]
                if written is not None:
                    info = refresh_info(engine, originals[i], value, info, is_out)
                elif kind == NEW:
                    kind = SAME
                outs.append(info)
                return originals[i]
        on = "cpu" if outs and name in SIZES_ON_CPU else device
        info, aliased = _make_info(
            engine, value, infos, owners, on, assumed,
            known=known, name=name, originals=originals,
        )  # fmt: skip
        if aliased and kind == NEW:
            kind = VIEW
        outs.append(info)
        if (
            info.kind == VALUED
            and value.numel() > engine.known_limit
            and not aliased
            and value.numel() > _find_limit(engine, name, value, infos)
        ):
            value = _make_blank_like(engine, value, info)
        engine.tell(value, info)
        return value

    result = nests.swap_tensors(out, hand_out)
    if written is not None and not outs:
        outs.append(
            refresh_info(
                engine,
                originals[written],
                before[written],
                infos[written],
                is_out,
            )
        )
    if written is not None:
        if "out" in kwargs and _has_grown(infos, outs):
            # Real kernels let `out=` grow first, and ask for overlap then.
            now = [engine.info(tensor) for tensor in originals]
            engine.check_overlap(func, name, args, kwargs, now)
        follow_write(engine, infos, infos[written])
        if engine.graph:
            _age_twin(infos[written], before[written])
        if not known:
            poison_storage(infos[written].storage)
    if notes and notes[0].startswith("torch's data-free"):
        for info in outs:
            info.unsure = notes[0]
    if kind == NEW and name in plan_tables.VIEWS:
        kind = COPY
    if not engine.recording:
        return result
    metas = tuple(info.meta for info in outs)
    answer = Answer(
        func,
        convert_for_record(engine, args, kwargs),
        kind,
        metas,
        tuple(info.grad_fn for info in outs),
        flops=flops,
        notes=notes,
        written=written,
    )
    engine.record(answer, infos, tuple(outs))
    return result


def _find_limit(engine: Engine, name: str, value: Tensor, infos: list[Info]) -> int:
    """Return the largest number of elements up to which a result keeps its values."""
    if name in plan_tables.DATA and is_whole(value.dtype):
        return engine.held_limit
    return engine.limit_for(infos, value.dtype)


def _has_grown(before: list[Info], after: list[Info]) -> bool:
    """Return whether the shape of an input tensor changed."""
    shapes = {info.number: info.meta.shape for info in before}
    return any(shapes.get(i.number, i.meta.shape) != i.meta.shape for i in after)


def get_versions(tensors: list[Tensor]) -> list[int]:
    """Return the version counters of tensors; inference tensors have none."""
    return [-1 if value.is_inference() else value._version for value in tensors]


def find_written(
    func: Any, kwargs: Kwargs, before: list[Tensor], versions: list[int]
) -> int | None:
    """Find the input that was written, by its version counter, else by the name."""
    now = get_versions(before)
    for i, version in enumerate(versions):
        if min(version, now[i]) >= 0 and now[i] != version:
            return i
    if -1 not in now:
        return None
    if isinstance(kwargs.get("out"), Tensor):
        return _find_out(before, kwargs)
    return 0 if is_in_place(get_plain_name(func), kwargs) else None


def _find_out(before: list[Tensor], kwargs: Kwargs) -> int:
    """Return the index of the tensor given as `out=` among the tensors of a call."""
    names = list(kwargs)
    after = [kwargs[name] for name in names[names.index("out") :]]
    return len(before) - len(nests.collect_tensors(after))


def is_in_place(name: str, kwargs: Kwargs) -> bool:
    """Return whether a function of this name writes to its first tensor."""
    if name.endswith("__"):
        return name == "__setitem__" or name in INPLACE_OPERATORS
    return name.endswith("_") or kwargs.get("inplace") is True


VIEW_NODES = frozenset(
    f"{name}Backward{number}"
    for name in """
    View AsStrided ReshapeAlias Transpose T Permute Select Slice Squeeze Unsqueeze
    Expand Alias Split SplitWithSizes Chunk Unbind Narrow Diagonal Unfold ViewAsReal
    ViewAsComplex Conj
""".split()
    for number in (0, 1, 2)
)
"""Autograd nodes whose output is a view of an input or of an internal tensor."""


def follow_write(engine: Engine, infos: list[Info], target: Info) -> None:
    """Raise `NeedsGraph` after a write through a view that only torch can follow."""
    if engine.graph or not torch.is_grad_enabled():
        return
    if not (target.storage.viewed or target.grad_fn in VIEW_NODES):
        return
    if any(info.meta.requires_grad for info in infos):
        from shapewright.engine.engine import NeedsGraph

        raise NeedsGraph("a view is written")


def _age_twin(info: Info, written: Tensor) -> None:
    """Increment the twin's version after a write, so that saved tensors are stale."""
    twin = info.twin
    if twin is not None and twin is not written and not twin.is_inference():
        increment_version(twin)


def poison_storage(storage: Storage) -> None:
    """Mark the values of a storage as unknown after unknown data was written to it."""
    storage.known = False


def _make_blank_like(engine: Engine, value: Tensor, info: Info) -> Tensor:
    info.kind = BLANK
    info.storage.known = False
    return torch.empty_strided(
        value.shape, value.stride(), dtype=value.dtype, device=META
    )


def refresh_info(
    engine: Engine, original: Tensor, physical: Tensor, info: Info, is_out: bool = False
) -> Info:
    """Return the new info of a written tensor, whose metadata is read again.

    `is_out` says: it was `out=`. Some data-free kernels lay one anew though it fits;
    of the real ones only `matmul` and `linear` do, of a vector, and on meta too.
    """
    if info.meta.layout != "strided":
        return info
    rg = physical.requires_grad or info.meta.requires_grad
    old = info.meta
    fits = is_out and physical.is_meta and physical.shape == old.shape
    if fits and physical.stride() != old.stride:
        with torch.no_grad():
            physical.as_strided_(old.shape, old.stride, old.offset)
    meta = intern_meta(engine.memo.metas, physical, info.meta.device, rg)
    name = get_node_name(physical) or info.grad_fn
    if meta is info.meta and name == info.grad_fn:
        return info
    new = Info(meta, info.storage, info.kind, name, info.number)
    laid_anew = meta.shape != old.shape or meta.stride != old.stride
    if is_out and laid_anew and original is not physical and info.kind != THEIRS:
        with torch.no_grad():  # the program reads sizes from the tensor itself
            original.resize_(meta.shape).as_strided_(meta.shape, meta.stride)
    if info.twin is not None and (physical.is_meta or not laid_anew):
        blank = physical if physical.is_meta else info.twin
        new.twin = blank if physical is not original else None
    engine.retell(original, new)
    return new


def get_node_name(tensor: Tensor) -> str | None:
    """Return the name of a tensor's node; None if it has none or torch raises.

    torch raises for a view made without grad whose base was written since.
    """
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return None
    return None if node is None else node.name()


def is_differentiable(dtype: torch.dtype, base: Meta) -> bool:
    """Return whether autograd follows a view of this dtype; not in `x.view(int32)`."""
    parts = dtype.is_complex != base.torch_dtype.is_complex
    whole = not (dtype.is_complex or dtype.is_floating_point)
    return not whole and (parts or dtype == base.torch_dtype)


def _is_contiguous(meta: Meta) -> bool:
    """Return whether the elements are in row-major order, apart from dims of size 1."""
    steps = zip(
        meta.shape, meta.stride, compute_contiguous_stride(meta.shape), strict=True
    )
    return 0 in meta.shape or all(n == 1 or a == b for n, a, b in steps)


def _make_info(
    engine: Engine,
    value: Tensor,
    infos: list[Info],
    owners: dict[int, int],
    device: str,
    assumed: str | None,
    *,
    known: bool,
    name: str,
    originals: list[Tensor],
) -> tuple[Info, bool]:
    """Return the info of a tensor that torch created, and whether it shares storage."""
    grad_fn = get_node_name(value)
    if is_transformed(value):
        meta = make_opaque_meta(value, device, "functorch")
        return Info(meta, Storage(device), BLANK, grad_fn), False
    if value.layout is not torch.strided or value.is_nested or value.is_quantized:
        layout = "nested" if value.is_nested else str(value.layout)[6:]
        meta = make_opaque_meta(value, device, layout)
        return Info(meta, Storage(device), BLANK, grad_fn), False
    kind = BLANK if value.is_meta else VALUED
    node = vars(value).pop("_sw_node", None) if value.is_meta else None
    owner = owners.get(value.untyped_storage()._cdata)
    rg = value.requires_grad or node is not None
    grad_fn = node[0] if node is not None else grad_fn
    if owner is not None:
        storage = infos[owner].storage
        storage.viewed = True
        base = infos[owner].meta
        if base.requires_grad and not torch.is_grad_enabled():
            # Made without grad, a view still requires grad if its base does.
            cut = name in plan_tables.CUTS or originals[owner].is_inference()
            rg = not cut and is_differentiable(value.dtype, base)
        if grad_fn == "ViewBackward0" and name in plan_tables.RESHAPES:
            grad_fn = grad_fn if _is_contiguous(base) else "ReshapeAliasBackward0"
        meta = intern_meta(engine.memo.metas, value, storage.device, rg)
        return Info(meta, storage, kind, grad_fn), True
    storage = Storage(device, known=known and kind == VALUED, assumed=assumed)
    meta = intern_meta(engine.memo.metas, value, device, rg)
    return Info(meta, storage, kind, grad_fn), False


def record_failure(
    engine: Engine,
    func: Any,
    arguments: tuple[Args, Kwargs],
    infos: list[Info],
    error: BaseException,
) -> BaseException:
    """Record a call that fails and return its error."""
    answer = Answer(func, arguments, NEW, notes=("raised",))
    engine.record(answer, infos, ())
    return error
