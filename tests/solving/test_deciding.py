"""Whether formulas are equal at all sizes, against sizes tried one by one."""

from __future__ import annotations

import random

import pytest

from shapewright.sizes.conditions import (
    Compared,
    Every,
    Some,
    compare_formulas,
    decide_condition,
    negate_condition,
)
from shapewright.sizes.expressions import (
    Expression,
    Letter,
    least,
    most,
    number,
    product,
    read,
)
from shapewright.sizes.formula_division import Over, Rest, carry_out_divisions
from shapewright.sizes.ranges import Ladder, find_bounds, iter_points, settle_choices
from shapewright.sizes.z3_solver import ask_solver

DIVISORS = (2, 3, 4, 6)


def formula(draw: random.Random, depth: int, letters: str = "HW") -> Expression:
    """Some formula of letters, numbers and the operators of sizes."""
    if depth == 0:
        return Letter(draw.choice(letters))
    one = formula(draw, depth - 1, letters)
    match draw.randrange(8):
        case 0 | 1:
            return one + draw.randint(-4, 6)
        case 2:
            return one * draw.choice((-1, 2, 3))
        case 3 | 4:
            return one // draw.choice(DIVISORS)
        case 5:
            return one % draw.choice(DIVISORS)
        case 6:
            return one + formula(draw, depth - 1, letters)
        case _:
            return product([one, formula(draw, depth - 1, letters)])


def chosen(draw: random.Random, inner: Expression) -> Expression:
    """A formula with a choice in it."""
    kind = draw.randrange(4)
    if kind == 0:
        return read(f"max({inner}, {draw.randint(-3, 9)})")
    if kind == 1:
        return read(f"min({inner}, {draw.randint(-3, 9)})")
    if kind == 2:
        return least([inner, Letter("H") + 2])
    return most([inner, Letter("W") - 1])


def altered(draw: random.Random, one: Expression) -> Expression:
    """The same in other words, or nearly the same."""
    match draw.randrange(5):
        case 0:
            return one + Letter("H") - (Letter("H") // 2) * 2 - Letter("H") % 2
        case 1:
            return one + Letter("W") // 2 + (Letter("W") + 1) // 2 - Letter("W")
        case 2:
            return one + (Letter("H") // 2) // 3 - Letter("H") // 6
        case 3:
            return one + (Letter("H") + 1) // 3 - Letter("H") // 3
        case _:
            return one + 1


@pytest.mark.parametrize("seed", range(150))
def test_equal_as_when_all_sizes_are_tried(seed: int) -> None:
    draw = random.Random(seed)
    sizes = {
        name: Ladder(draw.randint(1, 9), None, draw.choice((1, 1, 2, 4)))
        for name in "HW"
    }
    one = formula(draw, draw.randint(1, 3))
    if draw.random() < 0.3:
        one = chosen(draw, one)
    two = altered(draw, one)
    finite = {
        name: Ladder(each.low, each.low + 47 * each.step, each.step)
        for name, each in sizes.items()
    }
    differ = [
        each
        for each in iter_points(finite, frozenset("HW"))
        if one.value(each) != two.value(each)
    ]
    for ladders in (sizes, finite):
        found = compare_formulas(one, two, ladders)
        if found.holds:
            assert not differ
        elif found.holds is False:
            at = {name: ladders[name].low for name in "HW"} | (found.at or {})
            assert one.value(at) != two.value(at)
            assert all(ladders[name].holds(size) for name, size in at.items())
    assert found.holds is (not differ)  # what ends is decided, always


@pytest.mark.parametrize("seed", range(100))
def test_bounds_hold_and_what_is_settled_is_the_same(seed: int) -> None:
    draw = random.Random(seed)
    sizes = {name: Ladder(draw.randint(1, 5), draw.randint(6, 20)) for name in "HW"}
    one = chosen(draw, formula(draw, draw.randint(1, 3)))
    short = settle_choices(one, sizes)
    low, high = find_bounds(one, sizes)
    for each in iter_points(sizes, frozenset("HW")):
        value = one.value(each)
        assert short.value(each) == value
        assert low is None or low <= value
        assert high is None or value <= high


@pytest.mark.parametrize("seed", range(100))
def test_a_condition_holds_always_as_when_all_sizes_are_tried(seed: int) -> None:
    draw = random.Random(seed)
    finite = {name: Ladder(draw.randint(1, 5), draw.randint(6, 30)) for name in "HW"}

    def compared() -> Compared:
        relation = draw.choice(("==", "!=", ">=", ">", "<=", "<"))
        right = draw.choice((number(draw.randint(-2, 12)), formula(draw, 1)))
        return Compared(formula(draw, 2), relation, right)

    condition = draw.choice(
        (
            compared(),
            Every((compared(), compared())),
            Some((compared(), negate_condition(compared()))),
        )
    )
    every = all(map(condition.holds, iter_points(finite, frozenset("HW"))))
    found = decide_condition(condition, finite)
    assert found.holds is every
    endless = decide_condition(
        condition, {n: each.endless for n, each in finite.items()}
    )
    if endless.holds:
        assert every
    if endless.holds is False:
        at = {name: each.low for name, each in finite.items()} | (endless.at or {})
        assert not condition.holds(at)


@pytest.mark.parametrize(
    ("one", "two", "sizes"),
    [
        ("((H - 4)//2 - 4)//2", "(H - 12)//4", {"H": Ladder(16)}),
        ("2*(H//2)", "H", {"H": Ladder(4, None, 2)}),
        ("T*(T + 1)//2", "(T*T + T)//2", {"T": Ladder(1)}),
        ("max(T, 1)*3", "3*T", {"T": Ladder(1)}),
        ("H//16*(W//16)", "(W//16)*(H//16)", dict.fromkeys("HW", Ladder(16))),
    ],
)
def test_equal_without_end(one: str, two: str, sizes: dict[str, Ladder]) -> None:
    assert compare_formulas(read(one), read(two), sizes).holds is True


def test_a_choice_is_decided_as_far_as_sizes_are_counted() -> None:
    one, two = read("min(T, 40)"), read("T")
    same = read("min(T + 3, 43) - 3")
    assert compare_formulas(one, same, {"T": Ladder(1)}).holds is None
    assert compare_formulas(one, same, {"T": Ladder(1, 5000)}).holds is True
    assert compare_formulas(one, two, {"T": Ladder(1)}).holds is False
    assert compare_formulas(one, two, {"T": Ladder(1, 40)}).holds is True
    assert compare_formulas(one, two, {"T": Ladder(1, 64)}).at == {"T": 41}


@pytest.mark.parametrize("seed", range(60))
def test_divisions_by_formulas_are_done_where_nothing_is_left(seed: int) -> None:
    draw = random.Random(seed)
    sizes = {name: Ladder(draw.randint(3, 8), draw.randint(9, 30)) for name in "HW"}
    by = draw.choice(
        (Letter("H"), Letter("H") // 3, product([Letter("H"), Letter("W")]))
    )
    factor = draw.choice((number(3), Letter("W"), formula(draw, 1)))
    over = product([by, factor]) + draw.choice((0, 0, 1))
    for one in (Over(over, by), Rest(over, by), Rest(Letter("H") // 3, over)):
        short = carry_out_divisions(one, sizes)
        for each in iter_points(sizes, frozenset("HW")):
            assert short.value(each) == one.value(each)


def test_too_much_work_is_not_decided() -> None:
    sizes = dict.fromkeys("ABCD", Ladder(1))
    one = read("(A//17)*(B//19)*(C//23)*(D//29)")
    two = read("((A + 17)//17)*(B//19)*(C//23)*(D//29)")
    over = read("(B//19)*(C//23)*(D//29)")
    assert compare_formulas(one + over, two, sizes).holds is None
    assert compare_formulas(one, two + 1, sizes).holds is False


@pytest.mark.parametrize("seed", range(40))
def test_z3_says_the_same_as_all_sizes_tried(seed: int) -> None:
    pytest.importorskip("z3")
    draw = random.Random(seed)
    sizes = {name: Ladder(draw.randint(1, 5), draw.randint(6, 30)) for name in "HW"}
    one = chosen(draw, formula(draw, 2))
    by = Letter("H") + 1
    one = draw.choice((one, Over(one, by), Rest(one, by)))
    condition = Compared(one, draw.choice(("==", ">=", "!=")), formula(draw, 1))
    live = [Compared(Letter("H") + Letter("W"), ">", number(draw.randint(0, 40)))]
    failing = [
        each
        for each in iter_points(sizes, frozenset("HW"))
        if live[0].holds(each) and not condition.holds(each)
    ]
    found = ask_solver(condition, live, sizes)
    assert found.holds in (None, not failing)
    assert found.holds is not False or found.at in failing
