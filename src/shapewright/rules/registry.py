"""The registry of rules, by dotted torch name."""

from __future__ import annotations

from collections.abc import Callable

from shapewright.rules.meta import Metadata, Rule

RULES: dict[str, Rule] = {}
"""Every registered rule, by each of its names."""


def rule(
    *names: str,
    flops: Callable[..., int] | None = None,
    writes: int | None = None,
    random: bool = False,
) -> Callable[[Metadata], Metadata]:
    """Register the decorated function as the metadata rule of `names`.

    Example::

        @rule("torch.relu", "torch.Tensor.relu", "torch.nn.functional.relu")
        def relu(input, inplace=False):
            return elementwise(input, grad_fn="ReluBackward0")
    """

    def register(metadata: Metadata) -> Metadata:
        made = Rule(names, metadata, flops, writes, random)
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = made
        return metadata

    return register
