"""A state dict that does not fit the model that it is loaded into, as data."""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misloaded:
    """What `load_state_dict` refused.

    `missing` are the model's keys that the dict lacks, `unexpected` the dict's keys
    that the model lacks; `resized` are key, the model's shape and the dict's shape.
    `keys` is how many the model has.
    """

    class_name: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    resized: tuple[tuple[str, Shape, Shape], ...]
    keys: int
    torch_message: str


def prefix_of(one: Misloaded) -> tuple[str, str]:
    """What the dict's keys and the model's keys begin with that the others lack.

    Example: ``("module.", "")`` where the dict was saved from `nn.DataParallel`.
    """
    for theirs in one.unexpected[:1]:
        for ours in one.missing:
            if theirs.endswith(ours):
                more = theirs.removesuffix(ours)
                if {key.removeprefix(more) for key in one.unexpected} == set(
                    one.missing
                ):
                    return more, ""
            if ours.endswith(theirs):
                more = ours.removesuffix(theirs)
                if {f"{more}{key}" for key in one.unexpected} == set(one.missing):
                    return "", more
    return "", ""
