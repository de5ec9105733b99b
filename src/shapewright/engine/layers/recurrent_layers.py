"""LSTM, GRU and RNN, with each call answered as a whole.

torch's data-free kernels unroll them: 200 steps of an LSTM create 4,000 tensors and as
many nodes, 2 s forward and 1 s backward. The rule gives the metadata of the outputs; if
gradients are required, a miniature of the call gives its nodes, and if autocast is
on, its dtypes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import autocast, nests
from shapewright.engine.autograd_graph import is_cut
from shapewright.engine.devices import find_claimed_device
from shapewright.engine.dispatch.answers import (
    apply_answer,
    find_rule,
    intern_outputs,
    make_template,
)
from shapewright.engine.dispatch.results import convert_for_record
from shapewright.engine.identity import (
    BLANK,
    DTYPE_NAMES,
    DTYPES,
    Info,
    Storage,
    compute_contiguous_stride,
)
from shapewright.engine.layers.recurrent_graphs import (
    HIDDEN,
    PROJECTED,
    ROWS,
    STEPS,
    WIDTH,
    Layout,
    Mirror,
    Shape,
    attach_to_mirror,
    get_node_name,
    run_miniature,
)
from shapewright.engine.memo import NEW, Answer, RecurrentPlan
from shapewright.engine.private import (
    has_saving_hooks,
    is_in_dispatch_mode,
    is_in_transform,
)
from shapewright.operators.metadata_rules import Made
from shapewright.operators.recurrent.shapes import GATES, Layers, layers_of, outputs_of

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
FUNCTIONS = frozenset(GATES)


def answer_recurrent(
    engine: Engine, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
) -> Any:
    """Answer a recurrent call, or return None if torch has to compute it."""
    if kwargs or is_in_transform() or is_in_dispatch_mode():
        return None
    if engine.graph and has_saving_hooks():  # the program sees what torch saves
        return None
    if any(info.meta.layout != "strided" for info in infos):
        return None
    layers = layers_of(GATES[name], *convert_for_record(engine, args, kwargs)[0])
    if layers is None:
        return None
    lengths = None
    if layers.rows is not None:
        lengths = _find_small_lengths(engine, layers, args[1])
        if lengths is None:
            return None
    inputs = [engine.blank_of(tensor) for tensor in nests.collect_tensors(args)]
    if engine.graph and any(is_cut(tensor) for tensor in inputs):
        return None
    key = (
        func, torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
        tuple(info.meta for info in infos), tuple(lengths or ()), _get_flags(args),
        autocast.get_autocast_state(), torch.backends.mkldnn.enabled,
    )  # fmt: skip
    plan = engine.memo.recurrent.get(key)
    if plan is None:
        try:
            plan = _make_plan(engine, func, args, infos, layers, lengths)
        except RuntimeError:  # no kernel of the CPU for these dtypes
            return None
        engine.memo.recurrent[key] = plan
    return _make_outputs(engine, plan, layers, inputs, infos)


def _get_flags(args: Args) -> tuple[Any, ...]:
    """Return the non-tensor arguments of a call."""
    return tuple(argument for argument in args if isinstance(argument, int | float))


def _find_small_lengths(
    engine: Engine, layers: Layers, sizes: Tensor
) -> list[int] | None:
    """Return the batch sizes of a miniature, or None if the given ones are invalid."""
    rows = min(layers.batch, ROWS)
    steps = min(layers.steps, STEPS)
    if not engine.info(sizes).storage.known:
        return [rows, *(max(rows - 1, 1) for _ in range(steps - 1))]
    with torch._C.DisableTorchFunction():
        lengths = engine.value_of(sizes).tolist()
    falling = all(a >= b > 0 for a, b in pairwise(lengths))
    if not falling or lengths[0] != layers.batch or sum(lengths) != layers.rows:
        return None
    if lengths[-1] == lengths[0]:
        return [rows] * steps
    return [rows, *(max(rows - 1, 1) for _ in range(steps - 1))]


def _make_plan(
    engine: Engine,
    func: Any,
    args: Args,
    infos: list[Info],
    layers: Layers,
    lengths: list[int] | None,
) -> RecurrentPlan:
    """Return the answer by the rule, with nodes and dtypes taken from a miniature."""
    arguments = convert_for_record(engine, args, {})
    metas = [info.meta for info in infos]
    outputs = outputs_of(layers, metas[0].dtype)
    grad = torch.is_grad_enabled() and any(meta.requires_grad for meta in metas)
    small = None
    if grad or autocast.find_device_type(metas) is not None:
        shapes = _compute_small_shapes(layers, lengths)
        with torch._C.DisableTorchFunction():
            small = run_miniature(func, args, infos, shapes, lengths)
        outputs = tuple(
            replace(output, dtype=DTYPE_NAMES[out.dtype])
            for output, out in zip(outputs, small.outputs, strict=True)
        )
    device = find_claimed_device(engine, infos, {})
    outs = small.outputs if small is not None else [None] * len(outputs)
    flags = [out is not None and out.requires_grad for out in outs]
    answer = Answer(
        func,
        arguments,
        NEW,
        tuple(
            intern_outputs(engine, output, device, flag)
            for output, flag in zip(outputs, flags, strict=True)
        ),
        tuple(None if out is None else get_node_name(out) for out in outs),
        make_template(outputs, func),
        _compute_flops(func, arguments),
    )
    if small is None or not any(flags):
        return RecurrentPlan(answer)
    first, *lasts = small.outputs
    base = first._base
    mirror = Mirror(small.inputs, [first if base is None else base, *lasts])
    is_view = base is not None
    return RecurrentPlan(
        answer, mirror, _make_layouts(layers, outputs, is_view), is_view
    )


def _compute_flops(func: Any, arguments: tuple[Args, Kwargs]) -> int | None:
    """Return the FLOPs by the rule of the function, or None if it has none."""
    rule = find_rule(func)
    return None if rule is None or rule.flops is None else rule.flops(*arguments[0])


def _compute_small_shapes(layers: Layers, lengths: list[int] | None) -> list[Shape]:
    """Return the shapes of the operands of a miniature."""
    hidden, projected = min(layers.hidden, HIDDEN), min(layers.projected, PROJECTED)
    few = replace(
        layers,
        steps=min(layers.steps, STEPS),
        batch=min(layers.batch, ROWS),
        rows=None if lengths is None else sum(lengths),
        width=min(layers.width, WIDTH),
        hidden=HIDDEN if hidden == projected else hidden,
        projected=projected,
    )
    sizes = [] if lengths is None else [(len(lengths),)]
    return [few.input(), *sizes, *few.states(), *few.weights()]


def _make_layouts(
    layers: Layers, outputs: tuple[Made, ...], is_view: bool
) -> list[Layout]:
    """Return the layouts of the outputs of the nodes.

    The tensor that the output is a view of has the steps first, and is contiguous.
    """
    shapes = [output.shape for output in outputs]
    strides = [
        output.stride or compute_contiguous_stride(output.shape) for output in outputs
    ]
    if is_view:
        shapes[0] = (layers.steps, layers.batch, shapes[0][-1])
        strides[0] = compute_contiguous_stride(shapes[0])
    dtypes = [DTYPES[output.dtype] for output in outputs]
    return list(zip(shapes, strides, dtypes, strict=True))


def _make_outputs(
    engine: Engine,
    plan: RecurrentPlan,
    layers: Layers,
    inputs: list[Tensor],
    infos: list[Info],
) -> Any:
    """Return the outputs of a call, connected to the nodes of its mirror."""
    answer = plan.answer
    if plan.mirror is None or not engine.graph:
        return apply_answer(engine, answer, (), {}, infos)
    outs = attach_to_mirror(plan.mirror, inputs, plan.layouts)
    if plan.is_view:
        whole = outs[0]
        packed = layers.rows is not None
        outs[0] = whole.flatten(0, 1) if packed else whole.transpose(0, 1)
    output_infos = []
    for out, meta, node in zip(outs, answer.metas, answer.grad_fns, strict=True):
        info = Info(meta, Storage(meta.device), BLANK, node)
        engine.tell(out, info)
        output_infos.append(info)
    engine.record(answer, infos, tuple(output_infos))
    return tuple(outs)
