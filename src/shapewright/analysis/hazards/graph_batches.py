"""Find graphs that are joined to a batch without offsets of their nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.sample_offsets import find_indices_without_offsets
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import GRAPHS_WITHOUT_OFFSETS, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

JOINS = operators_with("concatenates") | {"hstack", "vstack"}
SHIFTS = frozenset({"+", "+=", "add", "add_", "-", "where"})
BY_INDEX = (
    operators_with("adds_by_index", "indexes_along_dim", "indexes_each_element")
    | operators_with("writes_by_index", "has_index_bounds")
    | {"[]"}
)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges of several graphs that a call has joined."""

    op: Op
    graphs: int


@looks_for(GRAPHS_WITHOUT_OFFSETS)
def find_joined_graphs(scene: HazardContext) -> Iterator[Finding]:
    """Find edges that are joined as they are and index the joined nodes; indices within
    one sample that index those of a batch.
    """
    yield from find_indices_without_offsets(scene)
    edges: dict[int, _Edges] = {}
    nodes: dict[int, int] = {}  # how many graphs have so many nodes together
    seen: set[object] = set()
    for call in scene.calls:
        op = call.op
        if call.name in JOINS and len(op.inputs) > 1:
            if _is_of_nodes(call):
                nodes[op.outputs[0].shape[0]] = len(op.inputs)
            elif _is_of_edges(call) and not _has_offsets(scene, op.inputs):
                edges[op.outputs[0].tensor] = _Edges(op, len(op.inputs))
        elif op.kind == "inplace":
            for fact in op.outputs:
                joined = [t for t, e in edges.items()
                          if e.op.outputs[0].storage == fact.storage]  # fmt: skip
                for tensor in joined:
                    del edges[tensor]
        if call.name in BY_INDEX and len(op.inputs) > 1:
            index = next((edges[f.tensor] for f in op.inputs[1:] if f.tensor in edges),
                         None)  # fmt: skip
            rows = op.inputs[0].shape[:1]
            if index is not None and rows and nodes.get(rows[0]) == index.graphs:
                if index.op.span not in seen:
                    seen.add(index.op.span)
                    yield _report(scene, index, call, rows[0])
                continue
        held = next((edges[f.tensor] for f in op.inputs if f.tensor in edges), None)
        if held is not None and (op.kind in ("view", "same") or call.name == "to"):
            for out in op.outputs:
                edges.setdefault(out.tensor, held)


def _report(
    scene: HazardContext, edges: _Edges, call: OperatorCall, rows: int
) -> Finding:
    """Return the finding for edges that are used as indices of all nodes."""
    return scene.finding(
        GRAPHS_WITHOUT_OFFSETS,
        edges.op,
        f"the edges of {edges.graphs} graphs are joined as they are: each graph counts"
        " its nodes from 0, so all edges lie between the nodes of the first ones",
        (call.op, f"they index the {rows} nodes of all graphs here"),
    )


def _is_of_nodes(call: OperatorCall) -> bool:
    """Return whether the features or kinds of several graphs' nodes are joined, row by
    row.
    """
    facts = call.op.inputs
    if call.name == "hstack" or call.given(1, "dim", "axis", default=0) in (1, -1):
        return False
    features = all(
        len(fact.shape) == 2 and fact.dtype.startswith(("float", "bf"))
        for fact in facts
    )
    return features or all(
        len(fact.shape) == 1 and fact.dtype.startswith("int") for fact in facts
    )


def _is_of_edges(call: OperatorCall) -> bool:
    """Return whether pairs of integers are joined along their other dim."""
    ins = call.op.inputs
    dim = call.given(1, "dim", "axis", default=0)
    if call.name in ("hstack", "vstack"):
        dim = 1 if call.name == "hstack" else 0
    if not isinstance(dim, int) or not all(len(fact.shape) == 2 for fact in ins):
        return False
    pairs = 1 - dim % 2
    return all(
        fact.shape[pairs] == 2 and fact.dtype.startswith("int") for fact in ins
    ) and any(fact.shape[1 - pairs] > 2 for fact in ins)


def _has_offsets(scene: HazardContext, facts: tuple[Fact, ...]) -> bool:
    """Return whether one of the graphs' edges was shifted, or written in place."""
    for fact in facts:
        maker = scene.maker(fact)
        if fact.version or (maker is not None and maker.name in SHIFTS):
            return True
    return False
