"""What stands beside the picture: a few lines on every page, sections where asked."""

from __future__ import annotations

from shapewright.rules.maps.drawn import Drawn
from shapewright.views.lab.backward import backward_lines, told_of_backward
from shapewright.views.lab.costs import cost_lines, told_of_costs, told_of_reading
from shapewright.views.lab.making import making_lines
from shapewright.views.lab.way import told_of_way, way_lines


def told_beside(drawn: Drawn) -> list[str]:
    """The lines of every page: where a new tensor is, costs, backward, dispatch."""
    if drawn.error:
        return []
    if not drawn.outputs:
        return told_of_reading(drawn)
    made = making_lines(drawn)
    lines = [*made, *told_of_costs(drawn)]
    return lines if made else [*lines, *told_of_backward(drawn), *told_of_way(drawn)]


def sections(drawn: Drawn) -> list[list[str]]:
    """The sections that are shown where somebody asks for them."""
    if drawn.error or not drawn.outputs:
        return []
    found = [section("costs", cost_lines(drawn))]
    if drawn.beside is not None:
        found.append(section("autograd", backward_lines(drawn)))
        found.append(section("dispatch", way_lines(drawn)))
    return found


def section(name: str, lines: list[str]) -> list[str]:
    """A heading, and its lines below it."""
    return [name, *(f"  {line}" for line in lines)]
