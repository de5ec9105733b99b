"""The autograd graph of data-free tensors.

A memoized answer gets an autograd node; a tensor that torch did not compute is
connected to the tensors from which it came.

torch's data-free kernels take some 100 to 300 us a call, and as much in a backward
pass. torch runs the first call of each kind; its nodes show which tensors it saved and
which inputs its graph reaches. Equal calls later get outputs with the same metadata,
on a node that saves the same tensors, so an in-place write or a second backward pass
raises as in torch. Gradients of tensors that are not parameters are row-major here,
whatever strides torch's formula would give. When a program asks for gradients of
gradients, this is switched off, since their nodes could not be named. Runs that share a
memo share these answers.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import get_gradient_edge

from shapewright.engine import nests
from shapewright.engine.dispatch.answers import Slot, _build_from_template
from shapewright.engine.identity import BLANK, META, Info, Storage
from shapewright.engine.memo import NEW, Answer, Hanging
from shapewright.engine.private import (
    has_saving_hooks,
    is_in_dispatch_mode,
    is_in_transform,
)

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
MOST_NODES = 4096
"""Largest number of nodes inspected in the graph of one call."""


class _Hung(torch.autograd.Function):
    """The autograd node of a call whose answer was memoized."""

    of_ours = True

    @staticmethod
    def forward(
        context: Any, plan: Hanging, group: tuple[int, ...], *inputs: Tensor
    ) -> Any:
        outs = tuple(_create_blanks(plan, group))
        context.plan = plan
        context.like = [(tensor.shape, tensor.dtype) for tensor in inputs]
        saved_outputs = [outs[n] for n, at in enumerate(group) if at in plan.made]
        context.save_for_backward(*(inputs[at] for at in plan.saved), *saved_outputs)
        context.set_materialize_grads(False)
        whole = [o for o in outs if not (o.is_floating_point() or o.is_complex())]
        if whole:
            context.mark_non_differentiable(*whole)
        return outs

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        plan: Hanging = context.plan
        saved = context.saved_tensors  # raises if a tensor was written or freed
        input_gradients: list[Tensor | None] = [None] * len(context.like)
        known_gradients = [gradient for gradient in gradients if gradient is not None]
        if known_gradients:
            for at in plan.reached:
                if context.needs_input_grad[at + 2]:
                    shape, dtype = context.like[at]
                    input_gradients[at] = torch.empty(shape, dtype=dtype, device=META)
        if torch.is_grad_enabled():  # second order: gradients depend on both
            known = [*known_gradients, *saved[: len(plan.saved)]]
            input_gradients = [
                None if gradient is None else _connect_gradient(gradient, known)
                for gradient in input_gradients
            ]
        return None, None, *input_gradients


class _Tied(torch.autograd.Function):
    """The autograd node of a gradient that is itself differentiable."""

    of_ours = True

    @staticmethod
    def forward(context: Any, blanks: list[Tensor], *inputs: Tensor) -> Tensor:
        context.like = [(tensor.shape, tensor.dtype) for tensor in inputs]
        return blanks[0].detach()

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return None, *(
            torch.empty(shape, dtype=dtype, device=META)
            if wanted and dtype.is_floating_point
            else None
            for (shape, dtype), wanted in zip(
                context.like, context.needs_input_grad[1:], strict=True
            )
        )


def _connect_gradient(gradient: Tensor, known: list[Tensor]) -> Tensor:
    """Connect a gradient to the tensors on which it depends."""
    function: Any = _Tied.apply
    hung: Tensor = function([gradient], *known)
    return hung


@cache
def _make_named_node(node: str) -> Any:
    """Return a subclass of `_Hung` whose nodes have this name."""
    kind: Any = type("Hung", (_Hung,), {})
    kind._backward_cls.__name__ = node
    return kind


def _create_blanks(plan: Hanging, group: tuple[int, ...]) -> list[Tensor]:
    """Create the data-free outputs of a plan that have the given indices."""
    return [
        torch.empty_strided(
            meta.shape, meta.stride, dtype=meta.torch_dtype, device=META
        )
        for meta in [plan.answer.metas[at] for at in group]
    ]


def can_attach_graph(engine: Engine) -> bool:
    """Return whether a call may be memoized with its autograd graph at this point."""
    return engine.hangs and not (
        engine.verify
        or is_in_transform()
        or is_in_dispatch_mode()
        or has_saving_hooks()
    )


def attach_graph(
    engine: Engine, plan: Hanging, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Return the outputs of a call that equals an earlier call, with a new graph."""
    answer = plan.answer
    if plan.reached:
        inputs = [
            engine.blank_of(tensor) for tensor in nests.collect_tensors((args, kwargs))
        ]
        outs: list[Any] = [None] * len(answer.metas)
        for name, group in plan.groups:  # a node has a single name
            made_there = _make_named_node(name).apply(plan, group, *inputs)
            for at, output in zip(group, made_there, strict=True):
                outs[at] = output
    else:
        outs = _create_blanks(plan, tuple(range(len(answer.metas))))
    output_infos = []
    for out, meta, node in zip(outs, answer.metas, answer.grad_fns, strict=True):
        info = Info(meta, Storage(meta.device), BLANK, node)
        out._sw = info
        out._sw_life = engine.life
        output_infos.append(info)
    engine.record(answer, infos, tuple(output_infos))
    return (
        outs[0]
        if plan.template is None
        else _build_from_template(plan.template, list(outs))
    )


def memoize_call(
    engine: Engine,
    key: tuple[Any, ...],
    before: int,
    args: Args,
    kwargs: Kwargs,
    out: Any,
) -> None:
    """Memoize a call that torch has just computed, if that is safe."""
    if len(engine.events) != before + 1:
        return
    answer: Answer = engine.events[-1][0]
    if answer.kind != NEW or not answer.metas or answer.raised is not None:
        return
    if any(meta.layout != "strided" or meta.offset for meta in answer.metas):
        return
    inputs = [
        engine.blank_of(tensor) for tensor in nests.collect_tensors((args, kwargs))
    ]
    outs = nests.collect_tensors(out)
    if len(outs) != len(answer.metas) or not all(tensor.is_meta for tensor in outs):
        return
    if any(engine.info(tensor).storage.known for tensor in outs):
        return
    if any(tensor.layout is not torch.strided or is_cut(tensor) for tensor in inputs):
        return
    stores = [tensor.untyped_storage()._cdata for tensor in (*inputs, *outs)]
    if len(set(stores[len(inputs) :])) != len(outs):
        return
    if set(stores[: len(inputs)]) & set(stores[len(inputs) :]):
        return
    template: Any = None
    if not isinstance(out, Tensor):
        counter = iter(range(1 << 30))
        nest = nests.swap_tensors(out, lambda _: Slot(next(counter)))
        if isinstance(out, tuple) and hasattr(out, "n_fields"):
            template = (type(out), tuple(nest))
        elif type(out) in (tuple, list):
            template = (None, nest)
        else:
            return
    graph = _find_graph(inputs, outs)
    if graph is not None:
        engine.memo.hung[key] = Hanging(answer, template, *graph)


def is_cut(tensor: Tensor) -> bool:
    """Return whether a tensor is a no-grad view of a leaf, which has no edge."""
    return tensor.requires_grad and tensor.grad_fn is None and tensor._is_view()


def _find_graph(
    inputs: list[Tensor], outs: list[Tensor]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Find the inputs that a graph reaches, and the inputs and outputs it saved."""
    graphless = torch.is_inference_mode_enabled()
    edges = {
        (edge.node, edge.output_nr): at
        for at, tensor in enumerate(inputs)
        if tensor.requires_grad and not graphless
        for edge in (get_gradient_edge(tensor),)
    }
    ends = {node for node, _ in edges}
    places = {tensor.untyped_storage()._cdata: at for at, tensor in enumerate(inputs)}
    results = {tensor.untyped_storage()._cdata: at for at, tensor in enumerate(outs)}
    reached: set[int] = set()
    saved: set[int] = set()
    saved_outputs: set[int] = set()
    waiting = [out.grad_fn for out in outs if out.grad_fn is not None]
    seen: set[Any] = set()
    while waiting:
        node: Any = waiting.pop()
        if node in seen or node in ends:
            continue
        seen.add(node)
        if len(seen) > MOST_NODES:
            return None
        for name in dir(node):
            if name == "_saved_sparse" and getattr(node, name):
                return None
            if name.startswith("_saved_"):
                for tensor in nests.collect_tensors((getattr(node, name),)):
                    if tensor.layout is not torch.strided:
                        return None
                    store = tensor.untyped_storage()._cdata
                    if store in places:
                        saved.add(places[store])
                    elif store in results:
                        saved_outputs.add(results[store])
        for after, number in node.next_functions:
            if after is None:
                continue
            at = edges.get((after, number))
            if at is not None:
                reached.add(at)
            elif after not in ends:
                waiting.append(after)
    return tuple(sorted(reached)), tuple(sorted(saved)), tuple(sorted(saved_outputs))


class _Joined(torch.autograd.Function):
    """Connects a substitute tensor to its inputs, so that backward reaches them."""

    of_ours = True

    @staticmethod
    def forward(context: Any, blanks: list[Tensor], *inputs: Tensor) -> Tensor:
        context.like = [(t.shape, t.dtype, t.requires_grad) for t in inputs]
        return blanks[0].detach()

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        gradients_in = (
            torch.empty(shape, dtype=dtype, device="meta") if wanted else None
            for shape, dtype, wanted in context.like
        )
        if not torch.is_grad_enabled():
            return None, *gradients_in
        known = [gradient for gradient in gradients if gradient is not None]
        return None, *(
            None if gradient is None else _connect_gradient(gradient, known)
            for gradient in gradients_in
        )


def join_graph(engine: Engine, out: Any, tensors: list[Tensor]) -> Any:
    """Return the outputs with an autograd node that leads to the input tensors."""
    blanks = [engine.blank_of(tensor) for tensor in tensors]

    def with_node(tensor: Tensor) -> Tensor:
        info = engine.info(tensor)
        if tensor.dtype.is_floating_point and any(b.requires_grad for b in blanks):
            function: Any = _Joined.apply
            tied = function([tensor], *blanks)
            same = Info(info.meta, info.storage, BLANK, info.grad_fn, info.number)
            return engine.tell(tied, same)
        return tensor

    if any(out is tensor for tensor in tensors):
        return out
    return nests.swap_tensors(out, with_node)


def join_unrecorded(
    engine: Engine, out: Any, tensors: list[Tensor], before: list[Tensor]
) -> Any:
    """Connect tensors not recorded yet as `join_graph` does; keep node names."""
    if not engine.graph or not torch.is_grad_enabled():
        return out
    blanks = [engine.blank_of(tensor) for tensor in tensors]
    if not any(blank.requires_grad for blank in blanks):
        return out

    def with_node(tensor: Tensor) -> Tensor:
        own = any(tensor is physical for physical in before)
        if own or not tensor.is_meta or not tensor.dtype.is_floating_point:
            return tensor
        function: Any = _Joined.apply
        hung: Tensor = function([tensor], *blanks)
        node = vars(tensor).get("_sw_node")
        if node is not None:
            vars(hung)["_sw_node"] = node
        return hung

    return nests.swap_tensors(out, with_node)
