"""Find mistakes of noise and divergence, as in a VAE: a variance or its logarithm that
scales noise, noise that is not normal, a divergence that is maximized.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    PRODUCTS,
    QUOTIENTS,
    SUMS,
    find_base,
    find_terms,
    is_negated,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    REVERSED_DIVERGENCE,
    UNIFORM_NOISE,
    VARIANCE_AS_SCALE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

RANDOM = operators_with("is_random")
EMPTY = operators_with("leaves_values_unset", "is_factory")
FILLS = frozenset({"normal_", "uniform_"})
"""What draws numbers into a tensor that is there already."""
UNIFORM = frozenset({"rand", "rand_like"})
SQUARES = frozenset({"pow", "**", "square"})


@looks_for(VARIANCE_AS_SCALE)
def find_variances_as_scales(scene: HazardContext) -> Iterator[Finding]:
    """Find noise times `exp(v)`, or `v`, where a divergence takes `v` for a
    log-variance.
    """
    variances = {part.log_variance: part for part in iter_divergences(scene)}
    for call in scene.calls:
        if call.name not in PRODUCTS | {"addcmul"} or call.op.span is None:
            continue
        if not any(_is_drawn(scene, fact) for fact in call.op.inputs):
            continue
        for at, fact in enumerate(call.op.inputs):
            exponential = _get_exponential(scene, fact)
            source = exponential.op.inputs[0] if exponential is not None else fact
            used = variances.get(source.tensor)
            if used is None:
                continue
            scaled = exponential.op if exponential is not None else call.op
            name = scene.words(scaled)[0 if exponential is not None else at]
            of = "`exp` of " if exponential is not None else ""
            message = (
                f"noise is scaled by {of}{name}, which the loss takes for the"
                " logarithm of a variance: the standard deviation is"
                f" {_write_root(name)}"
            )
            yield scene.finding(
                VARIANCE_AS_SCALE,
                scaled,
                message,
                (call.op, "it scales the noise here"),
                (used.exponential.op, "its `exp` is the variance of the divergence"),
            )
    yield from _find_variances_of_mixtures(scene)


def _find_variances_of_mixtures(scene: HazardContext) -> Iterator[Finding]:
    """Find `sqrt(a) * x + (1 - a) * noise`: the squares of both factors sum to one."""
    seen = set[object]()
    for call in scene.calls:
        if call.name not in SUMS or len(call.op.inputs) != 2 or call.op.span is None:
            continue
        parts = [scene.maker(fact) for fact in call.op.inputs]
        for noisy, clean in (parts, parts[::-1]):
            rest = _find_factor(scene, noisy, of_noise=True)
            kept = _find_factor(scene, clean, of_noise=False)
            if rest is None or kept is None or noisy is None or noisy.op.span in seen:
                continue
            root = scene.maker(find_base(scene, kept))
            whole = scene.maker(find_base(scene, rest))
            if root is None or whole is None or root.name not in ROOTS:
                continue
            is_rest = is_negated(whole) and len(whole.op.inputs) == 1
            source = find_base(scene, root.op.inputs[0]).tensor
            if is_rest and find_base(scene, whole.op.inputs[0]).tensor == source:
                seen.add(noisy.op.span)
                at = [fact.tensor for fact in noisy.op.inputs].index(rest.tensor)
                name = scene.words(noisy.op)[at]
                message = (
                    f"noise is scaled by {name}, and what it is mixed with by a root:"
                    f" the deviation is the root of {name}, so that the variances sum"
                    " to one"
                )
                place = (root.op, "the root is taken here")
                yield scene.finding(VARIANCE_AS_SCALE, noisy.op, message, place)


def _find_factor(
    scene: HazardContext, product: OperatorCall | None, *, of_noise: bool
) -> Fact | None:
    """Return what a product multiplies noise by, or a tensor that is none."""
    if product is None or product.name not in PRODUCTS:
        return None
    if len(product.op.inputs) != 2:
        return None
    first, second = product.op.inputs
    drawn = [_is_drawn(scene, fact) for fact in (first, second)]
    if of_noise:
        return None if drawn[0] == drawn[1] else (second if drawn[0] else first)
    roots = [
        fact
        for fact in (first, second)
        if (maker := scene.maker(find_base(scene, fact))) and maker.name in ROOTS
    ]
    return roots[0] if len(roots) == 1 else None


ROOTS = frozenset({"sqrt", "sqrt_"})


@looks_for(REVERSED_DIVERGENCE)
def find_reversed_divergences(scene: HazardContext) -> Iterator[Finding]:
    """Find divergences from a standard normal distribution that a loss subtracts."""
    seen = set[object]()
    for part in iter_divergences(scene):
        call = part.exponential
        if part.factor >= 0 or call.op.span is None or call.op.span in seen:
            continue
        seen.add(call.op.span)
        yield scene.finding(
            REVERSED_DIVERGENCE,
            call.op,
            "the loss subtracts this divergence from a standard normal distribution:"
            " minimizing it drives mean and variance away from 0 and 1",
        )


@looks_for(UNIFORM_NOISE)
def find_uniform_noise(scene: HazardContext) -> Iterator[Finding]:
    """Find numbers between 0 and 1 that are drawn where normal noise is meant: scaled
    by a deviation, or as the noise that a model learns to predict.
    """
    variances = {part.log_variance: part for part in iter_divergences(scene)}
    for call in scene.calls:
        if call.op.span is None:
            continue
        if call.name in PRODUCTS | {"addcmul"}:
            drawn = [f for f in call.op.inputs if _is_uniform(scene, f)]
            scales = [s.op for f in call.op.inputs if (s := _find_root(scene, f))]
            known = [
                variances[tensor].exponential.op
                for scale in scales
                if (tensor := _get_source(scene, scale)) in variances
            ]
            if drawn and known:
                yield _report_uniform(
                    scene, call, drawn[0], (known[0], "its variance, in the divergence")
                )
        elif call.name in LOSSES and len(call.op.inputs) > 1:
            target = find_base(scene, call.op.inputs[1])
            users = scene.users.get(target.tensor, ())
            if _is_uniform(scene, target) and call.op.inputs[0].requires_grad:
                mixed = [
                    u for u in users if u.name in PRODUCTS and len(u.op.inputs) > 1
                ]
                if mixed:
                    place = (mixed[0].op, "it is mixed with the data here")
                    yield _report_uniform(scene, call, target, place)


def _report_uniform(
    scene: HazardContext, call: OperatorCall, fact: Fact, place: tuple[Op, str]
) -> Finding:
    maker = scene.maker(find_base(scene, fact))
    drawing = maker.op if maker is not None else call.op
    name = drawing.name.rpartition(".")[2]
    message = (
        f"`{name}` draws numbers between 0 and 1, and this is noise of a normal"
        f" distribution with mean 0: `{name.replace('rand', 'randn', 1)}`"
    )
    return scene.finding(UNIFORM_NOISE, drawing, message, place)


def _is_uniform(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds numbers between 0 and 1, as they were drawn."""
    maker = scene.maker(find_base(scene, fact))
    return maker is not None and maker.name in UNIFORM and not fact.requires_grad


def _find_root(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the `exp` of a deviation, `exp(0.5 * v)`."""
    maker = scene.maker(find_base(scene, fact))
    return maker if maker is not None and maker.name in ("exp", "exp_") else None


def _get_source(scene: HazardContext, exponential: Op) -> int:
    """Return the tensor whose half, or itself, an `exp` is of."""
    fact = find_base(scene, exponential.inputs[0])
    half = scene.maker(fact)
    if half is not None and half.name in PRODUCTS | QUOTIENTS and half.op.inputs:
        fact = half.op.inputs[0]
    return fact.tensor


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


@dataclass(frozen=True, slots=True)
class _Divergence:
    """The divergence of a normal distribution in a loss: the tensor of its
    log-variance, the `exp` of it, and how often the loss adds it.
    """

    log_variance: int
    exponential: OperatorCall
    factor: float


def iter_divergences(scene: HazardContext) -> Iterator[_Divergence]:
    """Yield the divergences from a standard normal distribution in all losses.

    It is the sum of ``mu**2 + exp(v) - v - 1``, halved (Kingma and Welling, 2014,
    appendix B).
    """
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
                yield _Divergence(maker.op.inputs[0].tensor, maker, term.factor)
