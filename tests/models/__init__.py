"""Small models of many kinds, each with inputs that it runs on in milliseconds.

A case is a function that builds one: `CASES["vision.lenet"]()` gives `(model, args,
kwargs)`, real CPU tensors all of them, after seeding torch. The long coverage runs
every case for real and compares; the ordinary tests run `representative()`, a third.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

Built = tuple[Any, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Callable[[], Built]] = {}
KINDS = (
    "vision",
    "generative",
    "text",
    "recurrent",
    "science",
    "decisions",
    "torchlike",
)


def case(build: Callable[[], Any]) -> Callable[[], Built]:
    """Register a builder that returns a model and its positional inputs.

    A trailing dict among them holds keyword inputs.
    """
    name = f"{build.__module__.rsplit('.', 1)[-1]}.{build.__name__}"
    assert name not in CASES, name

    def built() -> Built:
        torch.manual_seed(0)
        model, *given = build()
        kwargs = given.pop() if given and isinstance(given[-1], dict) else {}
        return model, tuple(given), kwargs

    CASES[name] = built
    return built


def representative() -> list[str]:
    """Every third case, for the ordinary tests."""
    return list(CASES)[::3]


for _kind in KINDS:
    importlib.import_module(f"{__name__}.{_kind}")
