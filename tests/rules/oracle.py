"""Compares rules with what real, small CPU tensors do.

`check(func, args, kwargs)` runs torch and the rule of `func` on the same call and says
`equal`, `declined` (the rule answered NotImplemented), `no rule` or `wrong`. `Checking`
is a function mode that does so for every outermost call made under it, so whole samples
or models can be run through. What is compared: number, shape, dtype and stride of all
outputs, which argument an output is, whether it shares memory with one, the exception's
class and text, the name of grad_fn when the float inputs require grad, and FLOPs.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from shapewright.operators import import_families, metadata_rules
from shapewright.operators.metadata_rules import Made, Misfit, Rule, Same


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """What a rule sees of a tensor."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    requires_grad: bool = False
    layout: str = "strided"

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorMeta:
        """The metadata of a real tensor."""
        stride = tensor.stride() if tensor.layout == torch.strided else ()
        shape, dtype, device = tuple(tensor.shape), tensor.dtype, tensor.device
        layout = text(tensor.layout)
        return cls(
            shape, stride, text(dtype), str(device), tensor.requires_grad, layout
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one call compared. `detail` says what differs where `status` is `wrong`."""

    status: str
    name: str
    detail: str = ""


def text(value: Any) -> str:
    """`float32` for `torch.float32`; the same for layouts and memory formats."""
    return str(value).removeprefix("torch.")


def mapped(nest: Any, change: Callable[[Any], Any]) -> Any:
    """The nest of tuples, lists and dicts with every leaf changed."""
    if isinstance(nest, torch.Size):
        return nest
    if isinstance(nest, list | tuple):
        items = [mapped(item, change) for item in nest]
        if isinstance(nest, PackedSequence) and not isinstance(items[0], torch.Tensor):
            return tuple(items)
        return type(nest)(*items) if hasattr(nest, "_fields") else type(nest)(items)
    if isinstance(nest, dict):
        return {key: mapped(value, change) for key, value in nest.items()}
    return change(nest)


def leaves(nest: Any) -> Iterator[Any]:
    """All leaves of the nest, in order."""
    if isinstance(nest, dict):
        nest = list(nest.values())
    if not isinstance(nest, list | tuple):
        yield nest
        return
    for item in nest:
        yield from leaves(item)


def tensors(nest: Any) -> list[torch.Tensor]:
    """The tensors among the leaves."""
    return [leaf for leaf in leaves(nest) if isinstance(leaf, torch.Tensor)]


def meta_of(value: Any) -> Any:
    """A leaf as a rule sees it: metadata for tensors, names for torch's constants."""
    if isinstance(value, torch.Tensor):
        return TensorMeta.of(value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return text(value)
    return str(value) if isinstance(value, torch.device) else value


def resolve(name: str) -> Any:
    """The object that a dotted torch name names."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


@cache
def rules_by_function() -> dict[Any, tuple[str, Rule]]:
    """Every registered rule under the function objects that its names name."""
    import_families("shapes")
    return {resolve(name): (name, rule) for name, rule in metadata_rules.RULES.items()}


def rule_of(func: Any) -> tuple[str, Rule] | None:
    """The name and rule under which `func` is registered."""
    return rules_by_function().get(func)


def check(func: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Verdict:
    """Run the call for real and by its rule, and compare. Writes what it writes."""
    return run(func, args, kwargs or {})[0]


def run(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Verdict, Any]:
    """As `check`, and the real result with it; the call's own exception is raised on.

    The verdict of a call that raised is attached to the exception as `verdict`.
    """
    found = rule_of(func)
    name = found[0] if found else getattr(func, "__qualname__", repr(func))
    ruled = _ruled(found[1], args, kwargs) if found else NotImplemented
    spare = (
        _spare(args, kwargs) if isinstance(ruled, Made | Same | list | tuple) else None
    )
    versions = [tensor._version for tensor in tensors((args, kwargs))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real = func(*args, **kwargs)
    except Exception as error:
        error.verdict = Verdict(*_judge_error(found, ruled, error, name))
        raise
    if found is None:
        return Verdict("no rule", name), real
    fault = isinstance(ruled, AttributeError | TypeError)
    if ruled is NotImplemented or (fault and not versions):
        return Verdict("declined", name), real
    difference = _difference(found[1], ruled, real, args, kwargs, versions)
    if not difference and spare is not None:
        difference = _grad_difference(func, found[1], *spare)
    if not difference and found[1].flops is not None and spare is not None:
        difference = _flops_difference(func, found[1], *spare)
    return Verdict(
        "wrong" if difference else "equal", name, _told(difference, name, args, kwargs)
    ), real


def _told(difference: str, name: str, args: Any, kwargs: Any) -> str:
    return f"{name}{shown(args, kwargs)}: {difference}" if difference else ""


def shown(args: Any, kwargs: Any) -> str:
    """The call's arguments as metadata, for messages."""

    def brief(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            meta = TensorMeta.of(value)
            return f"{meta.dtype}{list(meta.shape)}/{list(meta.stride)}"
        return value

    return f"({mapped(args, brief)}, {mapped(kwargs, brief)})"


def _ruled(rule: Rule, args: Any, kwargs: Any) -> Any:
    try:
        return rule.metadata(*mapped(args, meta_of), **mapped(kwargs, meta_of))
    except Misfit as misfit:
        return misfit
    except (TypeError, AttributeError) as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is None:  # not in the rule's signature
            return NotImplemented
        return error


OF_VALUES = ("out of bounds", "probability tensor", "multinomial distribution")
"""Refusals of values: of an index, of weights to draw by. Rules see none."""


def _judge_error(
    found: Any, ruled: Any, error: Exception, name: str
) -> tuple[str, str, str]:
    if found is None:
        return "no rule", name, ""
    if ruled is NotImplemented:
        return "declined", name, ""
    if isinstance(ruled, AttributeError | TypeError) and isinstance(
        error, type(ruled) | TypeError
    ):
        return "declined", name, ""  # a number where both want a tensor
    if any(words in str(error) for words in OF_VALUES):
        return "declined", name, ""
    if not isinstance(ruled, Misfit):
        return "wrong", name, f"{name}: torch raises {error!r}, the rule gives {ruled}"
    have, want = (ruled.error, str(ruled)), (type(error).__name__, str(error))
    if have != want:
        return "wrong", name, f"{name}: torch raises {want}, the rule {have}"
    return "equal", name, ""


def _difference(
    rule: Rule, ruled: Any, real: Any, args: Any, kwargs: Any, versions: list[int]
) -> str:
    if isinstance(ruled, Exception):
        return f"torch runs, the rule raises {ruled!r}"
    made, out = list(leaves(ruled)), list(leaves(real))
    if len(made) != len(out):
        return f"torch gives {len(out)} outputs, the rule {len(made)}"
    given = tensors((args, kwargs))
    for answer, tensor in zip(made, out, strict=True):
        if answer is None and tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            return f"torch gives {tensor!r}"
        if isinstance(answer, Same):
            difference = _same_difference(answer, tensor, args, kwargs, given, versions)
        else:
            difference = _made_difference(rule, answer, tensor, args, given)
        if difference:
            return difference
    return ""


def _same_difference(
    answer: Same,
    tensor: Any,
    args: Any,
    kwargs: Any,
    given: list[Any],
    versions: list[int],
) -> str:
    own = (
        kwargs[answer.argument]
        if isinstance(answer.argument, str)
        else args[answer.argument]
    )
    if tensor is not own:
        return f"the output is not argument {answer.argument}"
    before = versions[next(i for i, one in enumerate(given) if one is own)]
    if (own._version != before) != answer.written:
        return f"written is {own._version != before}, the rule says {answer.written}"
    return ""


def _made_difference(
    rule: Rule, answer: Made, tensor: Any, args: Any, given: list[Any]
) -> str:
    want = (tuple(tensor.shape), text(tensor.dtype), tensor.stride())
    stride = answer.stride
    if stride is None:
        stride = torch.empty(answer.shape, device="meta").stride()
    have = (answer.shape, answer.dtype, stride)
    if have != want:
        return f"torch gives {want}, the rule {have}"
    if rule.writes is not None:
        return "" if tensor is args[rule.writes] else "the output is not what it writes"
    place = tensor.untyped_storage()._cdata
    if any(
        t.layout == torch.strided and t.untyped_storage()._cdata == place for t in given
    ):
        return "the output shares memory with an input"
    return ""


def fresh(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides, overlaps included."""
    if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
        return tensor.clone()
    storage = tensor.untyped_storage().clone()
    made = torch.empty(0, dtype=tensor.dtype)
    return made.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


class _Differentiable(torch.autograd.Function):
    """A copy that has a grad_fn and, unlike a view, may be written in place."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return fresh(tensor)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


def _spare(args: Any, kwargs: Any) -> Any:
    """The call's arguments again, copied, every float tensor requiring grad."""

    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return value
        copy = fresh(value.detach())
        if value.is_floating_point() or value.is_complex():
            return _Differentiable.apply(copy.requires_grad_())
        return copy

    try:
        with torch.enable_grad(), torch._C.DisableTorchFunction():
            return mapped((args, kwargs), copied)
    except (RuntimeError, NotImplementedError):
        return None


def _grad_difference(func: Any, rule: Rule, args: Any, kwargs: Any) -> str:
    ruled = _ruled(rule, args, kwargs)  # again: a path may depend on requires_grad
    if ruled is NotImplemented or isinstance(ruled, Exception):
        return ""
    try:
        with torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real = func(*args, **kwargs)
    except (RuntimeError, NotImplementedError):
        return ""
    if not any(tensor.requires_grad for tensor in tensors((args, kwargs))):
        return ""
    for answer, tensor in zip(leaves(ruled), leaves(real), strict=True):
        if answer is None:
            continue
        want = type(tensor.grad_fn).__name__ if tensor.requires_grad else ""
        if want == "_DifferentiableBackward":  # written, and kept the one it had
            want = ""
        if isinstance(answer, Same) and not answer.written:
            continue
        if answer.grad_fn is not None and answer.grad_fn != want:
            return f"grad_fn is {want!r}, the rule says {answer.grad_fn!r}"
    return ""


def _flops_difference(func: Any, rule: Rule, args: Any, kwargs: Any) -> str:
    assert rule.flops is not None
    have = rule.flops(*mapped(args, meta_of), **mapped(kwargs, meta_of))
    if "attention" in func.__name__ or (func is torch.lstm and args[0].dim() == 3):
        # the CPU has a kernel of its own for it, which is not counted
        args, kwargs = mapped((args, kwargs), _without_data)
    want = _counted(func, args, kwargs)
    return "" if have == want else f"torch counts {want} FLOPs, the rule {have}"


def _counted(func: Any, args: Any, kwargs: Any) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        func(*args, **kwargs)
    return int(counter.get_total_flops())


def _without_data(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value


@dataclass
class Tally:
    """Verdicts, counted by status; the wrong ones kept in words."""

    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        self.counts[verdict.status] += 1
        self.names.setdefault(verdict.name, Counter())[verdict.status] += 1
        if verdict.status == "wrong":
            self.wrong.append(verdict.detail)


class Checking(TorchFunctionMode):
    """Checks every outermost torch call made under it, and keeps the tally."""

    def __init__(self, tally: Tally | None = None) -> None:
        super().__init__()
        self.tally = tally or Tally()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        try:
            verdict, real = run(func, args, kwargs or {})
        except Exception as error:
            if hasattr(error, "verdict"):
                self.tally.add(error.verdict)
            raise
        self.tally.add(verdict)
        return real
