"""Find products of matrices, element by element, with a matrix that is a diagonal: all
but the diagonal of the other is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS
from shapewright.findings.codes import DIAGONAL_ONLY
from shapewright.findings.finding import Finding
from shapewright.record.ops import Fact

DIAGONALS = frozenset({"diag", "diag_embed"})


def find_diagonal_products(scene: HazardContext) -> Iterator[Finding]:
    """Find `d * a * d` with `d = torch.diag(degrees)`."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        if call.op.span is None or call.op.span in seen:
            continue
        for at in (0, 1):
            matrix, other = call.op.inputs[at], call.op.inputs[1 - at]
            if not _is_diagonal(scene, matrix) or other.shape != matrix.shape:
                continue
            if _is_diagonal(scene, other) or _is_diagonal_product(scene, other):
                continue
            seen.add(call.op.span)
            names = scene.words(call.op)
            message = (
                f"{names[at]} is a diagonal: multiplied element by element, all of"
                f" {names[1 - at]} but its diagonal becomes 0; `@` scales its rows"
            )
            yield scene.finding(DIAGONAL_ONLY, call.op, message)
            break


def _is_diagonal(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a matrix was made of the values of its diagonal."""
    maker = scene.maker(fact)
    if maker is None or maker.name not in DIAGONALS or fact.ndim < 2:
        return False
    return maker.op.inputs[0].ndim == fact.ndim - 1


def _is_diagonal_product(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a matrix is one that such a product has made already."""
    maker = scene.maker(fact)
    return (
        maker is not None
        and maker.name in PRODUCTS
        and any(_is_diagonal(scene, part) for part in maker.op.inputs)
    )
