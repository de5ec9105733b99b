"""The autograd graph of a recurrent call, with one node in place of many of torch's.

It is derived from a miniature of the call on real CPU tensors.

A layer over 200 steps has thousands of nodes; which inputs they reach, what they save
and how gradients are strided is the same over two steps of three rows. So torch itself
runs a miniature, with operands of the same dtypes, strides and flags.

A `Mirror` is a graph between small real tensors, created by torch. Data-free tensors
get a single node in its place: it saves what the graph saves, and the gradients that
leave it have the number, dtypes and strides of those of the miniature, whose own
backward pass runs once for each set of outputs that receive gradients. Gradients of
gradients are mirrored likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch

from shapewright.engine import autocast, nests
from shapewright.engine.identity import META, Info
from shapewright.engine.replacement import limit_to_one_thread

Tensor = torch.Tensor
Shape = tuple[int, ...]
STEPS, ROWS, WIDTH, HIDDEN, PROJECTED = 2, 3, 5, 7, 4
"""Sizes of a miniature, all different; a size of 1 stays 1."""


class _Miniature:
    """The operands of a call at a small size, in their order, and its outputs."""

    __slots__ = ("inputs", "outputs")

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self.inputs = inputs
        self.outputs = outputs


def run_miniature(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    infos: list[Info],
    shapes: list[Shape],
    lengths: list[int] | None,
) -> _Miniature:
    """Call the function on tensors of these `shapes` that otherwise match the operands.

    `lengths` are the batch sizes of packed steps, which are the second operand.
    """
    operands = [
        _make_small_tensor(info, shape)
        for info, shape in zip(infos, shapes, strict=True)
    ]
    if lengths is not None:
        operands[1] = torch.tensor(lengths, device="cpu")
    counter = iter(operands)
    small = nests.swap_tensors(_remove_dropout(args), lambda _: next(counter))
    kind = autocast.find_device_type([info.meta for info in infos])
    if kind == "cuda":
        small, _ = autocast.cast_tensors(func.__name__, small, infos)
    with limit_to_one_thread(), _disable_cpu_autocast(kind):
        out = func(*small)
    return _Miniature(operands, nests.collect_tensors(out))


def _disable_cpu_autocast(kind: str | None) -> AbstractContextManager[Any]:
    """Disable the autocast of the CPU unless the operands are on the CPU."""
    if kind == "cpu" or not torch.is_autocast_enabled("cpu"):
        return nullcontext()
    return torch.autocast("cpu", enabled=False)


def _remove_dropout(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set the dropout probability, the only float argument, to 0."""
    return tuple(0.0 if isinstance(argument, float) else argument for argument in args)


def _make_small_tensor(info: Info, shape: Shape) -> Tensor:
    """Return zeros of this shape with strides ordered like those of the operand."""
    meta = info.meta
    stride = _compute_strides_like(meta.shape, meta.stride, shape)
    tensor = torch.empty_strided(shape, stride, dtype=meta.torch_dtype, device="cpu")
    storage: Any = tensor.untyped_storage()
    storage.fill_(0)
    return tensor.requires_grad_(meta.requires_grad)


def _compute_strides_like(shape: Shape, stride: Shape, other: Shape) -> Shape:
    """Return strides for another shape that keep the order of the dims in memory.

    `(3, 2, 5)` by `(5, 15, 1)` and `(8, 200, 64)` give `(64, 512, 1)`. Expanded dims
    stay expanded.
    """
    strides = [0] * len(shape)
    step, size = 1, 1
    steps = {1: 1}  # of dims of size 1, by the stride that they have
    for dim in sorted(range(len(shape)), key=lambda dim: (stride[dim], -dim)):
        if stride[dim] and shape[dim] > 1:
            strides[dim] = step
            step, size = step * other[dim], size * shape[dim]
            steps[size] = step
    for dim, sides in enumerate(shape):
        if sides == 1:
            strides[dim] = steps.get(stride[dim], step)
    return tuple(strides)


Layout = tuple[Shape, Shape, torch.dtype]
"""Shape, stride and dtype of an output of a node."""


class Mirror:
    """A small copy of an autograd graph.

    `saved` are the inputs that backward reads, by index, with the tensor saved of each;
    `kept` are the outputs that it reads.
    """

    __slots__ = ("_gradients", "inputs", "kept", "outputs", "saved")

    def __init__(self, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.saved: list[tuple[int, Tensor]] = []
        self.kept: list[int] = []
        self._gradients: dict[Any, _Gradients] = {}
        places = {t.untyped_storage()._cdata: at for at, t in enumerate(inputs)}
        output_places = {t.untyped_storage()._cdata: at for at, t in enumerate(outputs)}
        for tensor in self._saved_tensors():
            store = tensor.untyped_storage()._cdata
            if store in places:
                self.saved.append((places.pop(store), tensor))
            elif store in output_places:
                self.kept.append(output_places.pop(store))

    def _saved_tensors(self) -> list[Tensor]:
        """Return the tensors saved by the graph's nodes, starting at the outputs."""
        nodes = dict.fromkeys(t.grad_fn for t in self.outputs if t.grad_fn is not None)
        waiting = list(nodes)
        tensors: list[Tensor] = []
        for node in waiting:
            names = [name for name in dir(node) if name.startswith("_saved_")]
            tensors += nests.collect_tensors([getattr(node, name) for name in names])
            for after, _ in node.next_functions:
                if after is not None and after not in nodes:
                    nodes[after] = None
                    waiting.append(after)
        return tensors

    def gradients(self, received: tuple[int, ...], again: Any = None) -> _Gradients:
        """Return the gradients of the inputs for the outputs that receive gradients.

        For gradients of gradients, `again` says which of the given ones require grad.
        """
        key = received, again
        if key not in self._gradients:
            with (
                torch._C.DisableTorchFunction(),
                limit_to_one_thread(),
                torch.enable_grad(),
            ):
                self._gradients[key] = self._differentiate(received, again)
        return self._gradients[key]

    def _differentiate(self, received: tuple[int, ...], again: Any) -> _Gradients:
        start = [torch.ones_like(self.outputs[at]) for at in received]
        for gradient, wanted in zip(start, again or (), strict=False):
            gradient.requires_grad_(wanted)
        # Of a number: where gradients are given to it, torch imports sympy.
        total = torch.zeros((), device="cpu")
        for at, gradient in zip(received, start, strict=True):
            total = total + (self.outputs[at] * gradient).sum()
        leaves = [at for at, tensor in enumerate(self.inputs) if tensor.requires_grad]
        gradients = torch.autograd.grad(
            total,
            [self.inputs[at] for at in leaves],
            retain_graph=True,
            create_graph=again is not None,
            allow_unused=True,
        )
        by_place = dict(zip(leaves, gradients, strict=True))
        return _Gradients(
            self, start, {k: v for k, v in by_place.items() if v is not None}
        )


class _Gradients:
    """The gradients of a mirror's inputs, and the mirror of their graph.

    `by_place` maps each index of an input to the index of its gradient in `outputs`.
    """

    __slots__ = ("by_place", "mirror", "outputs")

    def __init__(
        self, of: Mirror, start: list[Tensor], by_place: dict[int, Tensor]
    ) -> None:
        owner: dict[int, int] = {}  # two biases may have one tensor
        self.by_place = {
            at: owner.setdefault(id(tensor), len(owner))
            for at, tensor in by_place.items()
        }
        self.outputs = list(
            {id(tensor): tensor for tensor in by_place.values()}.values()
        )
        self.mirror: Mirror | None = None
        if any(output.requires_grad for output in self.outputs):
            self.mirror = Mirror([*of.inputs, *start], self.outputs)

    def layouts(self, inputs: tuple[Tensor, ...]) -> list[Layout]:
        """Return the layouts of the gradients of these inputs."""
        shapes = {n: inputs[at].shape for at, n in self.by_place.items()}
        return [
            (
                shapes[n],
                _compute_strides_like(tensor.shape, tensor.stride(), shapes[n]),
                tensor.dtype,
            )
            for n, tensor in enumerate(self.outputs)
        ]


def attach_to_mirror(
    mirror: Mirror, inputs: list[Tensor], layouts: list[Layout]
) -> list[Tensor]:
    """Return data-free outputs with these layouts, with nodes as in the mirror."""
    if not any(output.requires_grad for output in mirror.outputs):
        return [_make_blank(layout) for layout in layouts]
    held = [_find_saved(inputs[at], small) for at, small in mirror.saved]
    joined: Any = _Joint.apply
    held += joined(*inputs)
    name = next(name for output in mirror.outputs if (name := get_node_name(output)))
    outputs: list[Tensor] = list(
        _make_named_function(_Mirrored, name).apply(mirror, held, layouts, *inputs)
    )
    first = True
    for at, small in enumerate(mirror.outputs):
        own = get_node_name(small)
        if own and not (first and own == name):
            outputs[at] = _make_named_function(_Renamed, own).apply(outputs[at])
        first = first and not own
    return outputs


def get_node_name(tensor: Tensor) -> str | None:
    """Return the name of a tensor's node."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


def _make_blank(layout: Layout) -> Tensor:
    """Return a data-free tensor of this layout."""
    shape, stride, dtype = layout
    return torch.empty_strided(shape, stride, dtype=dtype, device=META)


def _find_saved(tensor: Tensor, small: Tensor) -> Tensor:
    """Return what a node saves of an input: the input itself or a view of it.

    The name of its node appears where an in-place write is refused.
    """
    node = get_node_name(small)
    if node == "TBackward0":
        return tensor.t()
    if node == "SelectBackward0":
        return tensor.select(0, 0)
    if node == "UnbindBackward0":
        return tensor.unbind(0)[0]
    if small.dim() == tensor.dim():
        return tensor
    with torch.set_grad_enabled(node is not None):
        if (
            small.dim() == 2
            and tensor.is_contiguous()
            and node in ("ViewBackward0", None)
        ):
            return tensor.view(-1, tensor.shape[-1])
    return tensor


class _Mirrored(torch.autograd.Function):
    """A node that represents a graph and saves what the graph saves."""

    of_ours = True

    @staticmethod
    def forward(
        context: Any,
        mirror: Mirror,
        held: list[Tensor],
        layouts: list[Layout],
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        outputs = tuple(_make_blank(layout) for layout in layouts)
        context.mirror = mirror
        context.first = len(mirror.saved)
        context.last = len(held)
        context.save_for_backward(*held, *(outputs[at] for at in mirror.kept))
        context.set_materialize_grads(False)
        pairs = zip(mirror.outputs, outputs, strict=True)
        context.mark_non_differentiable(*(o for s, o in pairs if not s.requires_grad))
        return outputs

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        saved = context.saved_tensors  # which refuses what was written or freed
        inputs = saved[context.first : context.last]
        mirror: Mirror = context.mirror
        received = tuple(
            at for at, gradient in enumerate(gradients) if gradient is not None
        )
        input_gradients: list[Tensor | None] = [None] * len(inputs)
        if received:
            start = [gradients[at] for at in received]
            again = None
            if torch.is_grad_enabled():
                again = tuple(gradient.requires_grad for gradient in start)
            computed = mirror.gradients(received, again)
            layouts = computed.layouts(inputs)
            if computed.mirror is None or again is None:
                outputs = [_make_blank(layout) for layout in layouts]
            else:
                outputs = attach_to_mirror(computed.mirror, [*inputs, *start], layouts)
            for at, n in computed.by_place.items():
                if context.needs_input_grad[3 + at]:
                    input_gradients[at] = outputs[n]
        return None, None, None, *input_gradients


class _Joint(torch.autograd.Function):
    """Passes on the tensors through which gradients of gradients flow.

    The outputs lead to the inputs of a call, but a write to the inputs is none to them.
    """

    of_ours = True

    @staticmethod
    def forward(context: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
        context.set_materialize_grads(False)
        copies = tuple(
            torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=META)
            for t in inputs
        )
        pairs = zip(inputs, copies, strict=True)
        context.mark_non_differentiable(*(m for t, m in pairs if not t.requires_grad))
        return copies

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return gradients


class _Renamed(torch.autograd.Function):
    """A function that gives an output a node of its own."""

    of_ours = True

    @staticmethod
    def forward(context: Any, tensor: Tensor) -> Tensor:
        return _make_blank((tensor.shape, tensor.stride(), tensor.dtype))

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        return gradients[0]


@cache
def _make_named_function(kind: type[torch.autograd.Function], node: str) -> Any:
    """Return a function of this kind whose nodes have this name."""
    function: Any = type(kind.__name__, (kind,), {})
    function._backward_cls.__name__ = node
    return function
