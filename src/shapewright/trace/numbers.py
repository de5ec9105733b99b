"""Whole numbers that a program gave names, no part of the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbers:
    """The named whole numbers of one module of the program.

    `classes` are its class and those above it; `own` are its attributes, `configs`
    those of the objects that it keeps as `config` or under a like name.
    """

    classes: tuple[str, ...]
    own: Mapping[str, int]
    configs: Mapping[str, Mapping[str, int]]
