"""Find networks that are trained on scaled steps and asked about raw ones, or the
reverse: `net(x, t / steps)` in the loss and `net(x, t)` where samples are drawn.

The numbers of the run show it: draws and steps have a least and a largest value, which
a division or a product scales. Values that nothing is known of say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.training_mistakes.compared_modes import is_outermost
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import UNEQUAL_TRANSFORMS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import list_parameters
from shapewright.record.ops import Fact, ModuleCall, Op

Range = tuple[float, float]
KEEPING = (
    operators_with("keeps_elements", "regroups_dims", "moves_dims", "repeats_whole")
    | operators_with("moves_device", "transposes_dims", "splits", "leaves_graph")
    | {"[]", "flip"}
)
"""Calls whose elements are among those of their operand."""
PRODUCTS = frozenset({"*", "mul", "multiply"})
QUOTIENTS = operators_with("divides_elements")
UNIT = 1.0
"""The largest scaled step."""
FEWEST = 5.0
"""The largest raw step, at least: so many times beyond what the network knows."""
HALF = 0.5
"""The largest of the scaled steps that a network is asked about, at least."""
FARTHEST = 12


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call of a network, with the range of an argument; `is_spaced` says that the
    argument is one of evenly spaced numbers, as of a grid.
    """

    call: ModuleCall
    place: int | str
    values: Range
    is_float: bool
    is_spaced: bool


def find_scaled_arguments(scene: RehearsalContext) -> Iterator[Finding]:
    """Find networks that get an argument of one scale in training and of another where
    they are asked without gradients.
    """
    passes = [op.index for op in scene.program.trace.ops if _get_name(op) == "backward"]
    if not passes:
        return
    trained: dict[tuple[object, ...], list[_Asked] | None] = {}
    asked: dict[tuple[object, ...], list[_Asked] | None] = {}
    for call in scene.program.trace.calls:
        if not is_outermost(scene, call) or call.span is None:
            continue
        is_learning = _has_graph(scene, call)
        if is_learning and call.ops[1] > passes[-1]:
            continue
        for place, fact in _iter_arguments(call):
            values = _find_range(scene, fact)
            use = None
            if values is not None:
                is_float = fact.dtype.startswith(("float", "bfloat"))
                use = _Asked(call, place, values, is_float, _is_spaced(scene, fact))
            if is_learning:
                _add_use(trained, (call.class_name, place), use)
            else:
                _add_use(asked, (call.class_name, place, call.span), use)
    for key, uses in asked.items():
        known = trained.get(key[:2])
        if known and uses:
            yield from _compare(scene, known, uses)


def _compare(
    scene: RehearsalContext, known: list[_Asked], uses: list[_Asked]
) -> Iterator[Finding]:
    """Yield the finding on a network that is asked on another scale than it knows."""
    low, high = _join(known)
    least, most = _join(uses)
    if min(low, least) < 0 or least == most or low == high:
        return
    is_raw = high <= UNIT and most >= FEWEST and known[0].is_float
    is_raw = is_raw and not any(use.is_spaced for use in uses)  # beyond, on purpose
    is_scaled = HALF <= most <= UNIT and high >= FEWEST and uses[0].is_float
    if not is_raw and not is_scaled:
        return
    name = uses[0].call.class_name
    yield build_finding(
        UNEQUAL_TRANSFORMS,
        f"`{name}` is trained with {_name_argument(scene, uses[0])} from {low:g} to"
        f" {high:g}, and asked with {least:g} to {most:g} here: steps of another scale",
        uses[0].call.span,
        (known[0].call.span, "it is trained with the other scale here"),
    )


def _name_argument(scene: RehearsalContext, use: _Asked) -> str:
    """Return the parameter of `forward` that gets an argument, in words."""
    if isinstance(use.place, str):
        return f"`{use.place}`"
    for text in scene.program.own_texts():
        for full_name, function in text.functions("forward"):
            names = list_parameters(function)
            is_own = full_name.split(".")[-2:-1] == [use.call.class_name]
            if is_own and use.place + 1 < len(names):
                return f"`{names[use.place + 1]}`"
    return f"argument {use.place + 1}"


def _is_spaced(scene: RehearsalContext, fact: Fact) -> bool:
    """Return whether a tensor is of evenly spaced numbers."""
    makers = iter_first_makers(scene.program, fact)
    return any(_get_name(maker) == "linspace" for maker in makers)


def _add_use(
    uses: dict[tuple[object, ...], list[_Asked] | None],
    key: tuple[object, ...],
    use: _Asked | None,
) -> None:
    """Add a use to those of a place; of a place with unknown values none is kept."""
    before = uses.setdefault(key, [])
    uses[key] = None if before is None or use is None else [*before, use]


def _join(uses: list[_Asked]) -> Range:
    """Return the range of the values of several calls."""
    return min(use.values[0] for use in uses), max(use.values[1] for use in uses)


def _get_name(op: Op) -> str:
    return op.name.rpartition(".")[2]


def _has_graph(scene: RehearsalContext, call: ModuleCall) -> bool:
    """Return whether a call of a network made anything that requires gradients."""
    return any(
        fact.requires_grad
        for op in scene.program.trace.ops[slice(*call.ops)]
        for fact in op.outputs
    )


def _iter_arguments(call: ModuleCall) -> Iterator[tuple[int | str, Fact]]:
    """Yield the tensors of a call beside its first, the data."""
    args, kwargs = call.inputs
    for place, value in enumerate(args):
        if isinstance(value, Fact) and place > 0:
            yield place, value
    for name, value in kwargs.items():
        if isinstance(value, Fact) and args:
            yield name, value


def _find_range(scene: RehearsalContext, fact: Fact, depth: int = 0) -> Range | None:
    """Return the least and the largest number that a tensor may hold, as far as the
    calls that made it show them, or None.
    """
    op = scene.program.producers.get(fact.tensor)
    if op is None or depth > FARTHEST or op.kind == "inplace":
        return None
    name, arguments = _get_name(op), dict(op.arguments)
    if not op.inputs or name.endswith("_like"):
        return _get_made(name, arguments)
    values = _find_range(scene, op.inputs[0], depth + 1)
    if values is None or name in KEEPING:
        return values
    factor = _find_factor(scene, op, depth)
    if factor is None or factor < 0 or name not in PRODUCTS | QUOTIENTS:
        return None
    if name in QUOTIENTS:
        return (values[0] / factor, values[1] / factor) if factor else None
    return values[0] * factor, values[1] * factor


def _find_factor(scene: RehearsalContext, op: Op, depth: int) -> float | None:
    """Return the one number that a call multiplies or divides by, or None."""
    if len(op.inputs) == 1:
        numbers = [value for _, value in op.arguments if isinstance(value, int | float)]
        return float(numbers[0]) if len(numbers) == 1 else None
    other = _find_range(scene, op.inputs[1], depth + 1)
    return other[0] if other is not None and other[0] == other[1] else None


def _get_made(name: str, arguments: dict[str, object]) -> Range | None:
    """Return the range of what a call makes of no other tensor's elements."""
    first, second = arguments.get("0"), arguments.get("1")
    if name in ("rand", "rand_like"):
        return 0.0, UNIT
    if name in ("ones", "ones_like"):
        return 1.0, 1.0
    if name in ("full", "full_like"):
        is_like = name == "full_like" and "1" not in arguments
        value = arguments.get("fill_value", first if is_like else second)
        return _join_numbers([value])
    if name in ("tensor", "as_tensor"):
        values = arguments.get("data", first)
        return _join_numbers(values if isinstance(values, list | tuple) else [values])
    if name in ("randint", "arange"):
        limits = [v for v in (first, second) if isinstance(v, int)]
        limits = [0, *limits] if len(limits) == 1 else limits
        return _join_numbers([limits[0], limits[1] - 1]) if len(limits) == 2 else None
    return _join_numbers([first, second]) if name == "linspace" else None


def _join_numbers(values: list[object] | tuple[object, ...]) -> Range | None:
    """Return the range of a few numbers, or None if one of them is none."""
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    if len(numbers) != len(values) or not all(map(isfinite, numbers)) or not numbers:
        return None
    return min(numbers), max(numbers)
