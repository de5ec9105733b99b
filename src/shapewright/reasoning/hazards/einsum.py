"""An `einsum` without an arrow that sums what all operands share, or reorders."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.axes.products import equation, output_letters
from shapewright.reasoning.hazards.registry import hazard
from shapewright.reasoning.hazards.scene import Scene
from shapewright.reasoning.program import shape_text


@hazard("einsum-reduction")
def einsums(scene: Scene) -> Iterator[Finding]:
    """Equations whose output torch had to guess."""
    for call in scene.calls:
        if call.name != "einsum" or call.op.span is None:
            continue
        found = equation(call)
        if found is None or found[1] is not None or len(found[0]) < 2:
            continue
        terms = found[0]
        shared = [c for c in terms[0] if all(c in term for term in terms)]
        first = shared[0] if shared else ""
        out = output_letters(*found)
        text = call.given(0, "equation")
        shape = shape_text(call.op.outputs[0])
        where = [term.find(first) for term in terms] if first else []
        front = bool(first) and not any(where) and any(len(t) > 1 for t in terms)
        if front and (
            summed_samples(scene, call.dims[0][0])
            or len(shared) < len(set("".join(terms)))
        ):
            message = (
                f"`{text}` has no arrow, so `{first}`, which all operands share, is"
                f" summed: {shape}"
            )
        elif out != "".join(dict.fromkeys(c for t in terms for c in t if c in out)):
            message = (
                f"`{text}` has no arrow, so the letters of the result come in the order"
                f" of the alphabet: `{out}`, {shape}"
            )
        else:
            continue
        yield scene.finding(
            "einsum-reduction",
            call.op,
            message,
            (call.op, f"torch reads it as `{text}->{out}`"),
        )


def summed_samples(scene: Scene, dim: object) -> bool:
    """Whether the letter in front counts samples."""
    return isinstance(dim, tuple) and scene.is_batch(dim)
