"""Find a variance that scales noise where its root is meant, as in a VAE."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    find_base,
    find_terms,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import VARIANCE_AS_SCALE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

RANDOM = operators_with("is_random")
EMPTY = operators_with("leaves_values_unset", "is_factory")
FILLS = frozenset({"normal_", "uniform_"})
"""What draws numbers into a tensor that is there already."""
SQUARES = frozenset({"pow", "**", "square"})


@looks_for(VARIANCE_AS_SCALE)
def find_variances_as_scales(scene: HazardContext) -> Iterator[Finding]:
    """Find noise times `exp(v)` where a divergence takes `v` for a log-variance."""
    variances = _find_log_variances(scene)
    for call in scene.calls:
        if call.name not in PRODUCTS | {"addcmul"} or call.op.span is None:
            continue
        if not any(_is_drawn(scene, fact) for fact in call.op.inputs):
            continue
        for fact in call.op.inputs:
            exponential = _get_exponential(scene, fact)
            if exponential is None:
                continue
            used = variances.get(exponential.op.inputs[0].tensor)
            if used is None:
                continue
            name = scene.words(exponential.op)[0]
            message = (
                f"noise is scaled by `exp` of {name}, which the loss takes for the"
                " logarithm of a variance: the standard deviation is"
                f" {_write_root(name)}"
            )
            yield scene.finding(
                VARIANCE_AS_SCALE,
                exponential.op,
                message,
                (call.op, "it scales the noise here"),
                (used.op, "its `exp` is the variance of the divergence here"),
            )


def _write_root(name: str) -> str:
    """Return the expression of the standard deviation of a log-variance."""
    inner = name.strip("`")
    return f"`exp(0.5 * {inner})`" if inner.isidentifier() else "`exp` of half of it"


def _is_drawn(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds random numbers."""
    base = find_base(scene, fact)
    maker = scene.maker(base)
    if maker is None or fact.requires_grad:
        return False
    fills = scene.users.get(base.tensor, ()) if maker.name in EMPTY else ()
    return maker.name in RANDOM or any(user.name in FILLS for user in fills)


def _get_exponential(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the `exp` that made a tensor."""
    maker = scene.maker(find_base(scene, fact))
    if maker is None or maker.name not in ("exp", "exp_"):
        return None
    return maker if maker.op.kind != "inplace" else None


def _find_log_variances(scene: HazardContext) -> dict[int, OperatorCall]:
    """Return the `exp` of each log-variance of a divergence, by the log-variance.

    The divergence from a standard normal distribution is the sum of
    ``mu**2 + exp(v) - v - 1``, halved (Kingma and Welling, 2014, appendix B).
    """
    variances: dict[int, OperatorCall] = {}
    for loss in iter_losses(scene):
        terms = find_terms(scene, loss)
        factors: dict[int, float] = {}
        for term in terms:
            tensor = term.fact.tensor
            factors[tensor] = factors.get(tensor, 0.0) + term.factor
        squared = {
            term.factor
            for term in terms
            if (maker := scene.maker(term.fact)) is not None
            and (maker.name in SQUARES or maker.name in PRODUCTS)
        }
        for term in terms:
            maker = _get_exponential(scene, term.fact)
            if maker is None or term.factor not in squared:
                continue
            source = find_base(scene, maker.op.inputs[0])
            factor = factors.get(source.tensor, 0.0)
            if factor and abs(factor + term.factor) < 1e-6 * abs(factor):
                variances[maker.op.inputs[0].tensor] = maker
    return variances
