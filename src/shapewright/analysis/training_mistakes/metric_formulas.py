"""Find metrics whose formula is that of another one: `precision = tp / (tp + fn)`, an
F1 without its factor of 2, an IoU whose union counts the intersection twice.
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
from shapewright.findings.codes import METRIC_FORMULA, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    pair_targets,
)

Counts = dict[str, float]
"""How often each count stands in a sum: ``{"tp": 2, "fp": 1}``."""
ATOMS = {
    "tp": re.compile(r"(^|_)(tps?|true_?pos(itives?)?)($|_)", re.I),
    "fp": re.compile(r"(^|_)(fps?|false_?pos(itives?)?)($|_)", re.I),
    "fn": re.compile(r"(^|_)(fns?|false_?neg(atives?)?)($|_)", re.I),
    "tn": re.compile(r"(^|_)(tns?|true_?neg(atives?)?)($|_)", re.I),
}
FORMULAS: dict[str, tuple[Counts, Counts]] = {
    "precision": ({"tp": 1}, {"tp": 1, "fp": 1}),
    "recall": ({"tp": 1}, {"tp": 1, "fn": 1}),
    "specificity": ({"tn": 1}, {"tn": 1, "fp": 1}),
    "false positive rate": ({"fp": 1}, {"fp": 1, "tn": 1}),
    "false negative rate": ({"fn": 1}, {"fn": 1, "tp": 1}),
    "negative predictive value": ({"tn": 1}, {"tn": 1, "fn": 1}),
    "IoU": ({"tp": 1}, {"tp": 1, "fp": 1, "fn": 1}),
    "F1": ({"tp": 2}, {"tp": 2, "fp": 1, "fn": 1}),
    "accuracy": ({"tp": 1, "tn": 1}, {"tp": 1, "tn": 1, "fp": 1, "fn": 1}),
}
"""What each metric divides by what."""
NAMES = {
    "precision": re.compile(r"(^|_)(precisions?|prec|ppv)($|_)", re.I),
    "recall": re.compile(r"(^|_)(recalls?|sensitivity|sens|tpr)($|_)", re.I),
    "specificity": re.compile(r"(^|_)(specificity|spec|tnr)($|_)", re.I),
    "false positive rate": re.compile(r"(^|_)(fpr|fall_?out)($|_)", re.I),
    "false negative rate": re.compile(r"(^|_)(fnr|miss_rate)($|_)", re.I),
    "negative predictive value": re.compile(r"(^|_)npv($|_)", re.I),
    "IoU": re.compile(r"(^|_)m?(iou|jaccard|jacc)s?($|_)", re.I),
    "F1": re.compile(r"(^|_)(f1|f1_?score|f_?score|dice|dsc)s?($|_)", re.I),
    "accuracy": re.compile(r"(^|_)(accuracy|acc)($|_)", re.I),
}
EPSILON = re.compile(r"eps|smooth|tiny|delta", re.I)
BOUNDED = operators_with("clamps", "limits_from_below") | {"max", "int"}
SUMMED = operators_with("adds_up_elements", "keeps_elements", "leaves_graph") | {"item"}


@dataclass(frozen=True, slots=True)
class _Formula:
    """A quotient that is called by the name of a metric."""

    text: SourceText
    metric: str
    name: str
    quotient: ast.BinOp


@looks_for(METRIC_FORMULA)
def find_metric_formulas(scene: RehearsalContext) -> Iterator[Finding]:
    """Find quotients of counts under the name of another metric."""
    for text in scene.program.own_texts():
        for formula in _iter_formulas(text):
            message = _check_counts(formula) or _check_harmonic_mean(formula)
            message = message or _check_union(formula)
            if message:
                yield build_finding(
                    METRIC_FORMULA, message, text.span(formula.quotient)
                )


def _iter_formulas(text: SourceText) -> Iterator[_Formula]:
    """Yield the quotients that are assigned to, or returned as, a metric."""
    for node in text.nodes:
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs += [
                    (get_last_name(name), value)
                    for name, value in pair_targets(target, node.value)
                ]
        elif isinstance(node, ast.Return) and node.value is not None:
            function = text.around(node, *FUNCTIONS)
            pairs = [(getattr(function, "name", ""), node.value)]
        elif isinstance(node, ast.Dict):
            pairs = [
                (str(key.value), value)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and value is not None
            ]
        for name, value in pairs:
            metrics = [metric for metric, known in NAMES.items() if known.search(name)]
            quotient = _find_quotient(value)
            if len(metrics) == 1 and quotient is not None:
                yield _Formula(text, metrics[0], name, quotient)


def _find_quotient(node: ast.expr) -> ast.BinOp | None:
    """Return the quotient of an expression, through a mean, a cast or a percentage."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [node.left, node.right]
            numbers = [isinstance(side, ast.Constant) for side in sides]
            if sum(numbers) != 1:
                return None
            node = sides[numbers.index(False)]
        elif isinstance(node, ast.IfExp):
            node = node.body
        elif isinstance(node, ast.Call) and get_called_name(node) in SUMMED:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.BinOp):
                node = owner
            elif len(node.args) == 1:
                node = node.args[0]
            else:
                return None
        else:
            return None


def _check_counts(formula: _Formula) -> str:
    """Return what a quotient of counts is, if it is not its name's."""
    top = _read_counts(formula.quotient.left)
    bottom = _read_counts(formula.quotient.right)
    if not top or not bottom or _is_indexed(formula.quotient):
        return ""
    if _is_same((top, bottom), FORMULAS[formula.metric]):
        return ""
    others = [
        metric for metric, known in FORMULAS.items() if _is_same((top, bottom), known)
    ]
    written = formula.text.line_of(formula.quotient)
    right = _write_formula(formula.metric)
    if others:
        return f"`{formula.name}` is `{written}`, the {others[0]}: it is {right}"
    return f"`{formula.name}` is `{written}`: the {formula.metric} is {right}"


def _is_indexed(node: ast.BinOp) -> bool:
    """Return whether a part of a quotient is one item of a list: `tps / tps[-1]`."""
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant | ast.UnaryOp)
        for part in ast.walk(node)
    )


def _write_formula(metric: str) -> str:
    """Write the formula of a metric: `tp / (tp + fp)`."""
    top, bottom = FORMULAS[metric]
    sums = [
        " + ".join(f"{count:g} {atom}" if count != 1 else atom
                   for atom, count in part.items())
        for part in (top, bottom)
    ]  # fmt: skip
    first = f"({sums[0]})" if "+" in sums[0] else sums[0]
    return f"{first} / ({sums[1]})"


def _is_same(own: tuple[Counts, Counts], known: tuple[Counts, Counts]) -> bool:
    """Return whether two quotients are equal, with any factor in both parts; one of
    them may be in percent.
    """
    if any(part.keys() != other.keys() for part, other in zip(own, known, strict=True)):
        return False
    factors = [
        {round(part[atom] / other[atom], DIGITS) for atom in part}
        for part, other in zip(own, known, strict=True)
    ]
    if any(len(factor) != 1 for factor in factors):
        return False
    top, bottom = (factor.pop() for factor in factors)
    return top in (bottom, PERCENT * bottom)


PERCENT = 100
DIGITS = 6


def _read_counts(node: ast.expr) -> Counts | None:
    """Return how often each count stands in a sum, or None for other expressions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _read_counts(node.left), _read_counts(node.right)
        if left is None or right is None:
            return None
        return {
            atom: left.get(atom, 0) + right.get(atom, 0) for atom in {**left, **right}
        }
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for number, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(number, ast.Constant) and isinstance(
                number.value, int | float
            ):
                counts = _read_counts(other)
                if counts is None:
                    return None
                return {atom: number.value * count for atom, count in counts.items()}
        return None
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = get_called_name(node)
        if owner is not None and name in SUMMED | BOUNDED and _read_atom(owner):
            return _read_counts(owner)
        if name in SUMMED | BOUNDED and node.args:
            return _read_counts(node.args[0])
        return None
    atom = _read_atom(node)
    if atom:
        return {atom: 1.0}
    return {} if EPSILON.search(get_last_name(node)) else None


def _read_atom(node: ast.expr) -> str:
    """Return which count an expression is by its name, or an empty text."""
    while isinstance(node, ast.Subscript):
        node = node.value
    name = get_last_name(node)
    atoms = [atom for atom, pattern in ATOMS.items() if pattern.search(name)]
    return atoms[0] if len(atoms) == 1 else ""


def _check_harmonic_mean(formula: _Formula) -> str:
    """Return that an F1 of precision and recall lacks its factor of 2."""
    top, bottom = formula.quotient.left, formula.quotient.right
    if formula.metric != "F1" or not isinstance(top, ast.BinOp):
        return ""
    if not isinstance(top.op, ast.Mult):
        return ""
    sides = {_read_share(top.left), _read_share(top.right)}
    own = formula.text.written(bottom)
    names = {
        _read_share(part) for part in ast.walk(bottom) if isinstance(part, ast.expr)
    }
    if sides != {"precision", "recall"} or not sides <= names or "/" in own:
        return ""
    whole = formula.text.parent(formula.quotient)
    if isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult):
        return ""
    return (
        f"`{formula.name}` lacks its factor of 2: the F1 is twice the product of"
        " precision and recall, divided by their sum"
    )


def _read_share(node: ast.expr) -> str:
    name = get_last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    shares = [m for m in ("precision", "recall") if name and NAMES[m].search(name)]
    return shares[0] if len(shares) == 1 else ""


def _check_union(formula: _Formula) -> str:
    """Return that the union of an IoU is the sum of both areas, the intersection
    twice.
    """
    text, top, bottom = formula.text, formula.quotient.left, formula.quotient.right
    inter, union = (_find_name(part) for part in (top, bottom))
    if formula.metric != "IoU" or not inter or not union or inter == union:
        return ""
    values = find_last_defined(text, union, formula.quotient.lineno)
    if values is None or not isinstance(values, ast.BinOp):
        return ""
    if not isinstance(values.op, ast.Add) or "union" not in union.lower():
        return ""
    sides = [values.left, values.right]
    if any(_count_sums(side) != 1 for side in sides) or " - " in text.written(values):
        return ""
    if any(get_last_name(part) == inter for part in ast.walk(values)):
        return ""
    return (
        f"`{union}` is `{text.line_of(values)}`, which counts `{inter}` twice: the"
        f" union is that less `{inter}`"
    )


def find_last_defined(text: SourceText, name: str, line: int) -> ast.expr | None:
    """Return what a name was last set to above a line."""
    values = [value for value in find_defining(text, name) if value.lineno <= line]
    return values[-1] if values else None


def _find_name(node: ast.expr) -> str:
    """Return the only name in a sum with a small number."""
    names = [
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not EPSILON.search(part.id)
    ]
    return names[0] if len(names) == 1 else ""


def _count_sums(node: ast.expr) -> int:
    return sum(
        isinstance(part, ast.Call) and get_called_name(part) == "sum"
        for part in ast.walk(node)
    )
