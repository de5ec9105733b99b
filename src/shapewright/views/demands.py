"""Demands as a person would say them."""

from __future__ import annotations

from shapewright.dims.demand import (
    Always,
    AtLeast,
    AtMost,
    Between,
    Both,
    Demand,
    Equal,
    Multiple,
    Square,
)
from shapewright.dims.expression import Expression, Letter


def said(demand: Demand) -> str:
    """``H and W are multiples of 16``; else the condition as Python has it.

    >>> from shapewright.dims.expression import Letter
    >>> said(Both((Multiple(Letter("H"), 16), Multiple(Letter("W"), 16))))
    'H and W are multiples of 16'
    """
    if isinstance(demand, Both):
        alike = together(demand)
        return alike or " and ".join(bracketed(part) for part in demand.parts)
    match demand:
        case Always():
            return "some sizes are refused for which no plain demand was found"
        case Multiple(Letter(name), divisor, 0):
            return f"{name} is a multiple of {divisor}"
        case Multiple(size, divisor, 0):
            return f"{size} is a multiple of {divisor}"
        case Multiple(size, divisor, rest):
            return f"{size} is {rest} more than a multiple of {divisor}"
        case AtLeast(size, bound):
            return f"{size} is at least {bound}"
        case AtMost(size, bound):
            return f"{size} is at most {bound}"
        case Equal(one, two):
            return f"{one} equals {two}"
        case Square(size):
            return f"{size} is a square number"
    return str(demand)


def together(demand: Both) -> str:
    """Two letters of which the same is said."""
    heads, tails = [], set()
    for part in demand.parts:
        head, tail = split(part)
        heads.append(head)
        tails.add(tail)
    if len(tails) > 1 or "" in tails or len(set(heads)) < len(heads):
        return ""
    names = ", ".join(heads[:-1]) + f" and {heads[-1]}"
    return f"{names} {tails.pop()}"


def split(part: Demand) -> tuple[str, str]:
    """What it is about, and what is said of it in the plural."""
    match part:
        case Multiple(size, divisor, 0):
            return plain(size), f"are multiples of {divisor}"
        case AtLeast(size, bound):
            return plain(size), f"are at least {bound}"
        case AtMost(size, bound):
            return plain(size), f"are at most {bound}"
        case Between(size, low, high) if low == high:
            return plain(size), f"are {low}"
        case Between(size, low, high):
            return plain(size), f"are from {low} to {high}"
    return "", ""


def plain(size: Expression) -> str:
    """The formula."""
    return str(size)


def bracketed(part: Demand) -> str:
    """A part of a longer sentence."""
    text = said(part)
    return f"({text})" if " or " in text else text
