"""Conversion of answers from the memo or metadata rules into tensors."""

from __future__ import annotations

import builtins
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version

from shapewright.engine import autocast, nests
from shapewright.engine.devices import find_claimed_device
from shapewright.engine.dispatch import memory_overlap
from shapewright.engine.dispatch.results import (
    convert_for_record,
    follow_write,
    poison_storage,
    record_failure,
)
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import (
    BLANK,
    DTYPE_NAMES,
    DTYPES,
    META,
    Info,
    Meta,
    Storage,
    compute_contiguous_stride,
)
from shapewright.engine.memo import INPLACE, NEW, SAME, Answer
from shapewright.engine.private import any_autocast
from shapewright.operators import import_families
from shapewright.operators.metadata_rules import (
    RULES,
    Made,
    Misfit,
    Rule,
    Same,
    setting,
)
from shapewright.operators.needs_registry import Needs

import_families("shapes")  # before a run, whose time is limited

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Slot:
    """The place of an output tensor in nested results (tuples, lists, dicts)."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def make_template(outputs: Any, func: Any) -> Any:
    counter = iter(range(1 << 30))

    def place(item: Any) -> Any:
        if isinstance(item, Made):
            return Slot(next(counter))
        if isinstance(item, tuple | list):
            return type(item)(place(inner) for inner in item)
        return item

    nest = place(outputs)
    structure = getattr(torch.return_types, get_plain_name(func), None)
    if structure is not None and isinstance(nest, tuple | list):
        return (structure, tuple(nest))
    return (None, nest)


def _build_from_template(template: tuple[Any, Any], tensors: list[Tensor]) -> Any:
    def place(item: Any) -> Any:
        if isinstance(item, Slot):
            return tensors[item.index]
        if isinstance(item, tuple | list):
            return type(item)(place(inner) for inner in item)
        return item

    structure, nest = template
    built = place(nest)
    return structure(built) if structure is not None else built


def apply_answer(
    engine: Engine, answer: Answer, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Create the outputs that an answer of the memo or of a rule describes."""
    for index in answer.hidden:  # torch leaves their version as it was
        poison_storage(infos[index].storage)
    if answer.kind == INPLACE:
        return _record_write(engine, answer, args, kwargs, infos)
    if answer.kind == SAME:
        engine.record(answer, infos, (infos[0],))
        return nests.collect_tensors((args, kwargs))[0]
    outs = []
    tensors = []
    for meta, grad_fn in zip(answer.metas, answer.grad_fns, strict=True):
        out = torch.empty_strided(
            meta.shape, meta.stride, dtype=meta.torch_dtype, device=META
        )
        info = Info(meta, Storage(meta.device), BLANK, grad_fn)
        out._sw = info  # type: ignore[attr-defined]
        out._sw_life = engine.life  # type: ignore[attr-defined]
        outs.append(info)
        tensors.append(out)
    engine.record(answer, infos, tuple(outs))
    return (
        tensors[0]
        if answer.template is None
        else _build_from_template(answer.template, tensors)
    )


def _record_write(
    engine: Engine, answer: Answer, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Apply the answer to an in-place call: compute nothing, but record the write."""
    simple = bool(args) and type(args[0]) is Tensor
    target = args[0] if simple else nests.collect_tensors((args, kwargs))[0]
    info = infos[0]
    for other in infos[1:]:  # who shares memory is in no key
        if other.storage is info.storage:
            name = get_plain_name(answer.func)
            memory_overlap.check_overlap(engine, answer.func, name, args, kwargs, infos)
            break
    follow_write(engine, infos, info)
    if info.kind == BLANK and not target.is_inference():
        increment_version(target)
    poison_storage(info.storage)
    meta = answer.metas[0]
    rg = meta.requires_grad
    if rg and not info.meta.requires_grad:
        old = info.meta
        key = (old.shape, old.stride, old.torch_dtype, old.offset, old.device, True)
        new_meta = engine.memo.metas.get(key)
        if new_meta is None:
            new_meta = Meta(*key, "strided")
            engine.memo.metas[key] = new_meta
        info = Info(new_meta, info.storage, info.kind, answer.grad_fns[0], info.number)
        info.twin = infos[0].twin
        engine.retell(target, info)
    elif rg and answer.grad_fns[0] != info.grad_fn:
        new = Info(info.meta, info.storage, info.kind, answer.grad_fns[0], info.number)
        new.twin = info.twin
        info = new
        engine.retell(target, info)
    engine.record(answer, infos, (info,))
    return target


_by_function: dict[Any, Rule] = {}
_seen = 0


def find_rule(func: Any) -> Rule | None:
    """Return the metadata rule of a torch function, or None."""
    if _seen != len(RULES) or not _seen:
        _map_rules()
    try:
        return _by_function.get(func)
    except TypeError:
        return None


@cache
def _map_needs(count: int) -> dict[Any, Needs]:
    """Map torch functions to the needs registered now; `count` is their number."""
    from shapewright.operators.needs_registry import NEEDS

    return {
        func: need
        for name, need in NEEDS.items()
        if (func := _find_function(name)) is not None
    }


def find_needs(func: Any) -> Needs | None:
    """Return the needs for calls of a torch function, or None if none are defined.

    Called only after a failure, as imports take time.
    """
    import shapewright.operators.all_needs  # noqa: F401
    from shapewright.operators.needs_registry import NEEDS

    try:
        return _map_needs(len(NEEDS)).get(func)
    except TypeError:
        return None


def _find_function(name: str) -> Any:
    """Return the torch function with a dotted name, or None if this torch has none."""
    function: Any = torch
    for part in name.split(".")[1:]:
        function = getattr(function, part, None)
    return None if function is torch else function


def _map_rules() -> None:
    global _seen
    _by_function.clear()
    for name, rule in RULES.items():
        function = _find_function(name)
        if function is not None:
            _by_function[function] = rule
    _seen = len(RULES)


@cache
def _is_einsum_row_major() -> bool:
    """Return whether the result of `ij,ki->kj` is row-major in this torch."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        left, right = (torch.ones(shape, device="cpu") for shape in ((2, 3), (2, 2)))
        return bool(torch.einsum("ij,ki->kj", left, right).is_contiguous())


def answer_by_rule(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Answer | None:
    """Return the answer of the operator's rule, or None if no rule covers this call."""
    rule = find_rule(func)
    if rule is None or (rule.random and "generator" in kwargs and kwargs["generator"]):
        return None
    arguments = convert_for_record(engine, args, kwargs)
    asked = arguments
    if any_autocast():
        cast = autocast.cast_arguments(name, arguments, infos)
        if cast is None:
            return None
        asked = cast
    setting.default_dtype = DTYPE_NAMES[torch.get_default_dtype()]
    if name == "einsum":
        setting.einsum_swaps = _is_einsum_row_major()
    try:
        outputs = rule.metadata(*asked[0], **asked[1])
    except Misfit as misfit:
        kind = getattr(builtins, misfit.error, None) or getattr(
            torch, misfit.error, None
        )
        error: BaseException = (kind or RuntimeError)(str(misfit))
        engine.raise_theirs(record_failure(engine, func, arguments, infos, error))
    except (TypeError, AttributeError):  # arguments that the rule does not know
        return None
    if outputs is NotImplemented:
        return None
    grad = torch.is_grad_enabled() and any(i.meta.requires_grad for i in infos)
    if isinstance(outputs, Same):
        return _answer_with_first(engine, func, arguments, infos, outputs, grad)
    flat = flatten_outputs(outputs)
    if flat is None or (grad and any(m.grad_fn is None for m in flat)):
        return None
    device = find_claimed_device(engine, infos, kwargs)
    metas = tuple(
        intern_outputs(engine, m, device, grad and bool(m.grad_fn)) for m in flat
    )
    names = tuple((m.grad_fn or None) if grad else None for m in flat)
    written = rule.writes
    if kwargs.get("inplace") is True:
        written = 0
    kind = NEW if written is None else INPLACE
    if kind == INPLACE:
        _check_leaf(engine, infos[0], grad)
    flops = rule.flops(*asked[0], **asked[1]) if rule.flops is not None else None
    template = None if isinstance(outputs, Made) else make_template(outputs, func)
    answer = Answer(
        func, arguments, kind, metas, names, template, flops, written=written
    )
    answer.hidden = _find_statistics(name, arguments, infos)
    return answer


def _answer_with_first(
    engine: Engine,
    func: Any,
    arguments: tuple[Args, Kwargs],
    infos: list[Info],
    same: Same,
    grad: bool,
) -> Answer | None:
    """Answer a call that returns its first tensor, possibly after writing to it."""
    if same.argument != 0 or (grad and same.written and same.grad_fn is None):
        return None
    if not same.written:
        return Answer(func, arguments, SAME)
    _check_leaf(engine, infos[0], grad)
    names = (same.grad_fn or None,) if grad else (None,)
    return Answer(func, arguments, INPLACE, (infos[0].meta,), names, written=0)


TRAINING = {"batch_norm": (5, "training"), "instance_norm": (5, "use_input_stats")}
"""Position and name of the argument that makes a norm update its statistics."""


def _find_statistics(name: str, arguments: Any, infos: list[Info]) -> tuple[int, ...]:
    """Return the indices of the running statistics that a norm updates in training."""
    if name not in TRAINING:
        return ()
    args, kwargs = arguments
    place, word = TRAINING[name]
    default = name == "instance_norm"
    if not kwargs.get(word, args[place] if len(args) > place else default):
        return ()
    statistics = [*args[1:3], kwargs.get("running_mean"), kwargs.get("running_var")]
    metas = [meta for meta in statistics if isinstance(meta, Meta)][:2]
    return tuple(range(1, 1 + len(metas)))


def _check_leaf(engine: Engine, info: Info, grad: bool) -> None:
    """Raise torch's error for an in-place write to a leaf that requires grad."""
    if grad and info.meta.requires_grad and info.grad_fn is None:
        engine.raise_theirs(
            RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        )


def flatten_outputs(outputs: Any) -> list[Made] | None:
    if isinstance(outputs, Made):
        return [outputs]
    if isinstance(outputs, tuple | list):
        flat: list[Made] = []
        for item in outputs:
            if item is None:
                continue
            inner = flatten_outputs(item)
            if inner is None:
                return None
            flat += inner
        return flat
    return None


def intern_outputs(engine: Engine, output: Made, device: str, rg: bool) -> Meta:
    shape = tuple(output.shape)
    stride = (
        compute_contiguous_stride(shape)
        if output.stride is None
        else tuple(output.stride)
    )
    dtype = DTYPES[output.dtype]
    key = (shape, stride, dtype, 0, device, rg)
    meta = engine.memo.metas.get(key)
    if meta is None:
        new = Meta(shape, stride, dtype, 0, device, rg, "strided")
        meta = engine.memo.metas[key] = new
    return meta
