"""Needs against torch itself.

`judged(func, args)` runs a call on real CPU tensors and asks the need of `func` about
its metadata. For a call that torch takes, the need has nothing to say. For one that it
refuses, the need says nothing either, or what it grants, one thing after the other,
makes torch take the call; what it says comes out is then what torch gives.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch

from checking.needs.metas import Seen, filled, mapped, seen, shown
from rules.oracle import fresh
from shapewright.engine.dispatch.answers import find_needs
from shapewright.engine.failures.continuation import with_layer
from shapewright.engine.failures.trials import with_grants
from shapewright.findings.codes import CODES
from shapewright.operators.failed_calls import Unmet
from shapewright.operators.metadata_rules import Made
from shapewright.operators.need_checks import text as shape_text

TAKEN, UNKNOWN, ANSWERED = "taken", "unknown", "answered"
MOST = 10
PAGES = frozenset(CODES)


def judged(func: Any, args: Any, kwargs: Any = None, fill: int = 0) -> str:
    """How a call of a function went: taken, unknown, answered.

    Granted whole numbers are `fill` everywhere: 0 is within range as an index.
    """
    return followed(func, asked_of(func), args, kwargs or {}, fill)[0]


def asked_of(func: Any) -> Any:
    """The need of a function, or of a layer whose own Python refuses."""
    if isinstance(func, torch.nn.Module):
        need = with_layer(find_needs(type(func)), func)
    else:
        need = find_needs(func)
    assert need is not None, f"no need for {func}"
    return need


def followed(
    func: Any, need: Any, args: Any, kwargs: Any, fill: int = 0
) -> tuple[str, Any]:
    """Grant what is needed until torch takes the call; what then comes out."""
    first: Unmet | None = None
    for _ in range(MOST):
        out = real(func, args, kwargs)
        no = need(*mapped(args, seen), **mapped(kwargs, seen))
        call = f"{func}{shown(args, kwargs)}"
        if not isinstance(out, Exception):
            assert no is None, f"torch takes {call}, the need says {no}"
            return TAKEN if first is None else ANSWERED, out
        if no is None:
            assert first is None, f"granted {first}, torch still refuses {call}: {out}"
            return UNKNOWN, out
        well_said(no)
        well_placed(no, need, mapped(args, seen), mapped(kwargs, seen))
        if not no.grants:
            return ANSWERED, no.makes or None
        first = no
        args, kwargs = with_grants(
            need, args, kwargs, no.grants, partial(stand_in, fill)
        )
    raise AssertionError(f"never taken: {call}: {out}; {first}")


def real(func: Any, args: Any, kwargs: Any) -> Any:
    """What torch gives on copies, or the exception that it raises."""
    copied = mapped((args, kwargs), copy_of)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            return func(*copied[0], **copied[1])
    except Exception as error:
        return error


def copy_of(value: Any) -> Any:
    """A tensor's copy; other values as they are."""
    return fresh(value.detach()) if isinstance(value, torch.Tensor) else value


def stand_in(fill: int, old: Any, made: Made) -> torch.Tensor:
    """A real tensor as it was granted."""
    assert min(made.shape, default=0) >= 0, f"granted {made.shape}"
    out = filled(made.shape, getattr(torch, made.dtype), fill)
    if made.stride is None:
        return out
    return torch.empty_strided(made.shape, made.stride, dtype=out.dtype).copy_(out)


def well_said(no: Unmet) -> None:
    """The sentence stands alone, its names can be filled in, its code has a page."""
    assert no.code in PAGES, no.code
    said = no.message.format_map(Anything())
    assert said == said.strip(), said
    assert not said.endswith("."), said
    assert said[0] == "`" or said[0].islower() or said[0].isdigit(), said
    assert "  " not in said, said
    for line in no.lines:
        line.format_map(Anything())


def well_placed(no: Unmet, need: Any, args: Any, kwargs: Any) -> None:
    """Dims that are named are there; a shape in the sentence is the tensor's own."""
    given = named(need, args, kwargs)
    for place in (no.got, no.wanted):
        if place is not None and place.argument in given and place.dim is not None:
            assert 0 <= place.dim < len(given[place.argument].shape), no
    for name, shown_shape in re.findall(r"\{(\w+)\} (?:is )?(\([\d, ]*\))", no.message):
        own = given.get(name) or given.get(name.replace("_", "."))
        assert own is None or shape_text(own.shape) == shown_shape, (no, own)


def named(need: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The tensors of a call, by their names in the signature of its need."""
    found: dict[str, Any] = {}
    bound = inspect.signature(need).bind(*args, **kwargs).arguments
    for name, value in bound.items():
        for path, leaf in paths(name, value):
            if isinstance(leaf, Seen):
                found[path] = leaf
    return found


def paths(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf of an argument, and the way to it: `tensors.1`."""
    if isinstance(value, list | tuple):
        for n, item in enumerate(value):
            yield from paths(f"{name}.{n}", item)
    else:
        yield name, value


class Anything(dict[str, str]):
    """Every name, in code quotes."""

    def __missing__(self, key: str) -> str:
        return f"`{key}`"


def check(
    calls: Iterable[tuple[Any, ...]],
    answered: float = 0.95,
    judge: Callable[..., str] = judged,
) -> Counter[str]:
    """Judge many calls; of those that torch refuses, most have an answer."""
    seen_: Counter[str] = Counter()
    unknown = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small tensors: waking threads costs more than the work
    try:
        for call in calls:
            verdict = judge(*call)
            seen_[verdict] += 1
            if verdict == UNKNOWN:
                unknown.append(f"{call[0]}{shown(call[1:], {})}")
    finally:
        torch.set_num_threads(threads)
    refused = seen_[UNKNOWN] + seen_[ANSWERED]
    assert refused, "no call was refused"
    assert seen_[ANSWERED] >= answered * refused, (seen_, unknown[:8])
    return seen_


__all__ = ["ANSWERED", "TAKEN", "UNKNOWN", "asked_of", "check", "followed", "judged"]
