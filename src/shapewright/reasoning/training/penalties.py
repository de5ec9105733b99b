"""Gradients that have no graph and are added to a loss: it trains nothing by them."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.scene import Scene, finding
from shapewright.trace.fact import Fact
from shapewright.trace.op import Op

ADDS = frozenset(
    "+ - += -= add sub add_ sub_ rsub subtract __add__ __radd__ __iadd__ __sub__ "
    "__rsub__ __isub__ stack".split()
)
"""Calls that put a term beside others."""

CONSTANT = frozenset(
    "detach sign sgn round floor ceil zeros_like ones_like rand_like randn_like "
    "empty_like full_like new_zeros new_ones new_full new_empty".split()
)
"""Calls through which no gradient would come, with a graph or without."""


def penalties(scene: Scene) -> Iterator[Finding]:
    """`autograd.grad` without `create_graph=True`, as a term of a loss."""
    terms = Terms()
    ops = scene.program.trace.ops
    if not any(op.name.endswith("autograd.grad") for op in ops):
        return
    for op in ops:
        if op.name.rpartition(".")[2] == "backward":
            for made, added in terms.reached(op):
                yield told(scene, made, added, op)
        else:
            terms.follow(op)


class Terms:
    """What comes of gradients without a graph, call by call.

    A step along a gradient is right without one (`x + 0.1 * gradient`, meta-learning
    of the first order): what it moves is that by which was differentiated. So a
    gradient is a term of a loss where it is one number beside others, or is added to
    what comes of that which was differentiated.
    """

    def __init__(self) -> None:
        self.bare: dict[int, Op] = {}  # of nothing but gradients: made where
        self.moved: set[int] = set()  # tensors by which was differentiated
        self.ends: dict[int, set[int]] = {}  # what comes of tensors that were: of which
        self.losses: dict[int, tuple[Op, Op]] = {}  # they hold a term, from an addition

    def follow(self, op: Op) -> None:
        """One call."""
        name = op.name.rpartition(".")[2]
        if op.name.endswith("autograd.grad"):
            self.differentiated(op)
            return
        trained = [fact for fact in op.inputs if fact.requires_grad]
        bare = [fact for fact in op.inputs if fact.tensor in self.bare]
        for out in op.outputs:
            if out.requires_grad:
                self.trains(op, name, out, trained, bare)
            elif bare and not trained and name not in CONSTANT and is_smooth(out):
                self.bare[out.tensor] = self.bare[bare[0].tensor]

    def differentiated(self, op: Op) -> None:
        """A gradient is taken."""
        given = list(zip(op.places, op.inputs, strict=False))
        wanted = [fact for place, fact in given if place.startswith(("1", "inputs"))]
        ends = [fact for place, fact in given if place.startswith(("0", "outputs"))]
        self.moved |= {fact.tensor for fact in wanted}
        if dict(op.arguments).get("create_graph"):
            return
        for out in op.outputs:
            if not out.requires_grad and any(end.requires_grad for end in ends):
                self.bare[out.tensor] = op
        for end in ends:
            self.ends.setdefault(end.tensor, set()).add(op.index)

    def trains(
        self, op: Op, name: str, out: Fact, trained: list[Fact], bare: list[Fact]
    ) -> None:
        """A tensor with a graph is made."""
        come = set[int]().union(*(self.ends.get(f.tensor, ()) for f in trained))
        if come:
            self.ends[out.tensor] = come | self.ends.get(out.tensor, set())
        held = [self.losses[f.tensor] for f in trained if f.tensor in self.losses]
        if held:
            self.losses[out.tensor] = held[0]
        others = [fact for fact in trained if fact.tensor not in self.moved]
        if not bare or not others or name not in ADDS:
            return
        made = self.bare[bare[0].tensor]
        numbers = not any(fact.shape for fact in (*bare, *others))
        if numbers or made.index in come:
            self.losses[out.tensor] = made, op

    def reached(self, backward: Op) -> Iterator[tuple[Op, Op]]:
        """The gradient, and its addition, in a loss to which a backward pass comes."""
        for fact in backward.inputs:
            if fact.tensor in self.losses:
                yield self.losses[fact.tensor]


def is_smooth(fact: Fact) -> bool:
    """Whether numbers could have a gradient."""
    return fact.dtype.startswith(("float", "bfloat", "complex"))


def told(scene: Scene, made: Op, added: Op, backward: Op) -> Finding:
    """The finding of one."""
    return finding(
        "gradient-without-graph",
        "this gradient is made without a graph, so the term of the loss that comes of "
        "it trains nothing: `create_graph=True` gives it one",
        made.span,
        (added.span, "the term is added to the loss here, as a constant"),
        (backward.span, "the backward pass of that loss"),
    )
