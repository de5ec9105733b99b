"""Find by which prefixes the keys of a state dict differ from those of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MOST_KEYS = 500
"""Keys of each side that are compared."""
LEAST_SHARE = 0.5
"""Of the keys that could match, the share that has to match after renaming."""

Rule = tuple[str, str]
"""The prefix that a key of the dict has, and the one that the model has for it."""


def write_renamed_key(theirs: Sequence[str], ours: Sequence[str]) -> str:
    """Return the expression of a key `k` of the dict as the model names it, or an empty
    string.

    One prefix is removed, added or replaced; or the keys with one prefix get another,
    and all others a second one::

        f"module.head.{k.removeprefix('projection.')}" if k.startswith("projection.")
        else f"module.{k}"
    """
    first = _find_rule(theirs, ours)
    if first is None:
        return ""
    known = {_rename_key(key, first) for key in theirs}
    rest = [key for key in theirs if _rename_key(key, first) not in {*ours}]
    second = _find_rule(rest, [own for own in ours if own not in known])
    if second is not None and second[0] == "" != first[0]:
        first, second = second, first
    if second is not None and (first[0] or not second[0]):
        second = None
    renamed = {
        _rename_key(key, second)
        if second is not None and key.startswith(second[0])
        else _rename_key(key, first)
        for key in theirs
    }
    if len(renamed & {*ours}) < LEAST_SHARE * min(len(theirs), len(ours)):
        return ""
    general = _write_rule(*first)
    if second is None:
        return general
    old, new = second
    special = f"{new}{{k.removeprefix('{old}')}}"
    return f'f"{special}" if k.startswith("{old}") else {general}'


def _find_rule(theirs: Sequence[str], ours: Sequence[str]) -> Rule | None:
    """Return the change of prefix that gives the most keys a name of the model."""
    counts = Counter(
        _strip_common_end(key, own)
        for key in theirs[:MOST_KEYS]
        for own in ours[:MOST_KEYS]
        if key.rpartition(".")[2] == own.rpartition(".")[2]
    )
    return max(counts, key=lambda rule: (counts[rule], -len(rule[0])), default=None)


def _strip_common_end(key: str, own: str) -> Rule:
    """Return what remains of two keys in front of the parts that they share."""
    parts, others = key.split("."), own.split(".")
    while parts and others and parts[-1] == others[-1]:
        parts, others = parts[:-1], others[:-1]
    return "".join(f"{part}." for part in parts), "".join(f"{o}." for o in others)


def _rename_key(key: str, rule: Rule) -> str:
    """Return a key with another prefix; keys without the old one stay."""
    old, new = rule
    return f"{new}{key.removeprefix(old)}" if key.startswith(old) else key


def _write_rule(old: str, new: str) -> str:
    """Return the expression of a renamed key `k`."""
    if not old:
        return f'f"{new}{{k}}"'
    if not new:
        return f'k.removeprefix("{old}")'
    return f'k.replace("{old}", "{new}", 1)'
