"""The optimizer of a step, by its name: `adamw`, `sgd(momentum=0.9)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import torch

_REFUSED = {
    "lbfgs": "it calls the model from inside its step",
    "sparseadam": "it takes sparse gradients only",
}

_LOW_BITS = ("8bit", "4bit", "fp8")
"""How optimizers of other packages end whose states have fewer bits."""


class UnknownOptimizer(ValueError):
    """Raised for a name that is no optimizer of torch."""


def _list_optimizers() -> list[str]:
    """Return the names of torch's optimizers, in small letters."""
    return sorted(name for name in _find_classes() if name not in _REFUSED)


def _find_classes() -> dict[str, type]:
    base = torch.optim.Optimizer
    return {
        name.lower(): kind
        for name, kind in vars(torch.optim).items()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }


def read_optimizer(text: str) -> tuple[type | None, dict[str, Any]]:
    """Return the class and the options of ``"sgd(momentum=0.9)"``; no class for
    ``"none"``.

    Raises `UnknownOptimizer`. Nothing is evaluated: options are literals.
    """
    name, options = _split_call(text)
    if name == "none":
        return None, {}
    if name in _REFUSED:
        raise UnknownOptimizer(f"no memory is known for `{text}`: {_REFUSED[name]}")
    classes = _find_classes()
    if name.endswith(_LOW_BITS):
        raise UnknownOptimizer(
            f"`{text}` is no optimizer of torch: `rehearse --device` counts those of "
            "bitsandbytes and torchao, in the script that uses them"
        )
    if name not in classes:
        names = ["none", *_list_optimizers()]
        alike = [known for known in names if known[0] == name[:1]]
        close = " or ".join(f"`{near}`" for near in get_close_matches(name, alike, 2))
        meant = f"did you mean {close}?" if close else f"there is {', '.join(names)}"
        raise UnknownOptimizer(f"no optimizer `{text}`; {meant}")
    build_optimizer(classes[name], options, [torch.empty(1, 1, device="meta")])
    return classes[name], options


def _split_call(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name in small letters, and the literals in the brackets."""
    stripped = text.strip()
    try:
        node = ast.parse(stripped, mode="eval").body
    except SyntaxError:
        return stripped.lower(), {}
    if not isinstance(node, ast.Call):
        return stripped.lower(), {}
    name = ast.unparse(node.func).rpartition(".")[2].lower()
    try:
        options = {
            keyword.arg: ast.literal_eval(keyword.value)
            for keyword in node.keywords
            if keyword.arg is not None
        }
    except ValueError:
        options = {}
    if node.args or len(options) != len(node.keywords):
        raise UnknownOptimizer(
            f"`{text}` has options that are no literals by name, as in "
            "`sgd(momentum=0.9)`"
        )
    return name, options


def build_optimizer(
    kind: type, options: dict[str, Any], parameters: Iterable[torch.Tensor]
) -> Any:
    """Return an optimizer; a learning rate does not matter for its memory."""
    try:
        return kind(list(parameters), **options)
    except (TypeError, ValueError) as error:
        raise UnknownOptimizer(f"`{kind.__name__}`: {error}") from None
