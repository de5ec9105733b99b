"""Find standard deviations that a scaler transforms back like values: it adds the mean
of the data to them, where a spread is only multiplied by the scale.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import DEVIATION_SHIFTED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
)

BACK = "inverse_transform"
MULTIPLYING = frozenset({"StandardScaler", "RobustScaler"})
"""Scalers of scikit-learn whose `scale_` a value was divided by."""
DIVIDING = frozenset({"MinMaxScaler"})
"""Scalers of scikit-learn whose `scale_` a value was multiplied by."""
SPREADS = frozenset({"std", "nanstd"})
KEEPING = operators_with("regroups_dims") | operators_with("leaves_graph")
KEEPING |= operators_with("keeps_elements") | operators_with("moves_dims")
KEEPING |= operators_with("takes_program_data") | {"array", "to"}
"""Calls whose result has the numbers of what they are called on."""
ROOTS = frozenset({"sqrt"})
SPREAD = re.compile(r"(^|_)(std|stds|stdev|stddev|sigma|sigmas)(_|\d|$)", re.IGNORECASE)
VARIANCE = re.compile(r"(^|_)(log)?(var|vars|variances?)(_|\d|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The factor of a scaler's way back, as written: ` * scaler.scale_`; empty if it is
    not known.
    """

    factor: str


@looks_for(DEVIATION_SHIFTED)
def find_shifted_deviations(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `scaler.inverse_transform(std)` beside that of the values."""
    for text in scene.program.own_texts():
        calls = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call)
            and get_called_name(node) == BACK
            and len(node.args) == 1
        ]
        for call in calls:
            spread = _find_spread(text, call, call.args[0])
            owner = get_receiver(call)
            if spread is None or owner is None:
                continue
            scale, written = find_scale(text, owner), text.written(owner)
            others = [
                other
                for other in calls
                if other is not call
                and text.written(other.func) == text.written(call.func)
                and _find_spread(text, other, other.args[0]) is None
            ]
            if scale is not None and others:
                name, place = spread
                yield build_finding(
                    DEVIATION_SHIFTED,
                    f"`{written}.{BACK}` adds the offset of the data to `{name}`, a"
                    " standard deviation, which is only multiplied by the scale",
                    text.span(call),
                    (text.span(place), f"`{name}` is a standard deviation"),
                    (text.span(others[0]), "the values themselves are scaled back"),
                )


def _find_spread(
    text: SourceText, call: ast.Call, value: ast.expr
) -> tuple[str, ast.expr] | None:
    """Return the name of a standard deviation that a value holds, in another form
    perhaps, and the expression that makes it one, or None.
    """
    value = _strip(value)
    if _is_spread(value):
        return text.line_of(value), value
    name = get_dotted_name(value)
    if not name:
        return None
    scope = text.around(call, *FUNCTIONS) or text.tree
    makers = [
        assigned
        for target, assigned in iter_assignments(scope, call.lineno, unpacked=True)
        if get_dotted_name(target) == name
    ]
    if makers:
        maker = _strip(makers[-1])
        named = _is_spread(maker) or (
            isinstance(maker, ast.Name) and _find_spread(text, call, maker) is not None
        )
        return (name, makers[-1]) if named else None
    returned = any(
        isinstance(target, ast.Tuple)
        and isinstance(assigned, ast.Call)
        and name in map(get_dotted_name, target.elts)
        for target, assigned in iter_assignments(scope, call.lineno)
    )
    return (name, value) if returned and SPREAD.search(get_last_name(value)) else None


def _strip(value: ast.expr) -> ast.expr:
    """Return `std` of `std.cpu().numpy().reshape(-1, 1)` and of `std[:, None]`."""
    while True:
        if isinstance(value, ast.Subscript):
            value = value.value
            continue
        if not isinstance(value, ast.Call) or get_called_name(value) not in KEEPING:
            return value
        receiver = get_receiver(value)
        is_module = isinstance(receiver, ast.Name) and receiver.id in ("np", "torch")
        if is_module or receiver is None:
            if not value.args:
                return value
            value = value.args[0]
        else:
            value = receiver


def _is_spread(value: ast.expr) -> bool:
    """Return whether an expression computes a standard deviation: `x.std(0)`, the root
    of a variance.
    """
    name = get_called_name(value)
    if not isinstance(value, ast.Call):
        return False
    if name in SPREADS:
        return True
    inside = [*value.args[:1], *filter(None, [get_receiver(value)])]
    return name in ROOTS and any(
        VARIANCE.search(get_last_name(node))
        for part in inside
        for node in ast.walk(part)
    )


def find_scale(text: SourceText, owner: ast.expr) -> _Scale | None:
    """Return how a scaler multiplies on its way back, if it adds an offset as well:
    those of scikit-learn, and the program's own; None for others.
    """
    written = text.written(owner)
    for value in find_defining(text, get_last_name(owner)):
        while isinstance(value, ast.Call) and get_called_name(value) == "fit":
            value = get_receiver(value) or ast.Pass()  # type: ignore[assignment]
        kind = get_called_name(value)
        if not isinstance(value, ast.Call):
            continue
        if kind in MULTIPLYING | DIVIDING:
            flags = {word.arg: ast.unparse(word.value) for word in value.keywords}
            if "False" in (flags.get("with_mean"), flags.get("with_centering")):
                return None
            sign = "*" if kind in MULTIPLYING else "/"
            return _Scale(f" {sign} {written}.scale_")
        for name, function in text.functions(BACK):
            if name == f"{kind}.{BACK}":
                factor = _find_factor(function)
                return _Scale(f" * {written}.{factor}") if factor else None
    return None


def _find_factor(function: ast.AST) -> str:
    """Return `std` of a function that returns `x * self.std + self.mean`."""
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.Return) else None
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        for product in (value.left, value.right):
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                for part in (product.left, product.right):
                    name = get_dotted_name(part)
                    if name.startswith("self."):
                        return name.removeprefix("self.")
    return ""
