"""What scaled dot products need: features, as many values as keys, masks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import broadcast, clash
from shapewright.rules.needs.kinds import real_floats
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import (
    dtype_unmet,
    lined_up,
    resized,
    same_dtype,
    swapped,
    text,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet


@needs("torch.nn.functional.scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Meta,
    key: Meta,
    value: Meta,
    attn_mask: Meta | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Unmet | None:
    """`(..., queries, features)`, `(..., keys, features)`, `(..., keys, values)`."""
    named = ("query", query), ("key", key), ("value", value)
    for name, each in named:
        if len(each.shape) < 2:
            return too_few(name, each)
    wrong = real_floats(*named) or same_dtype(*reversed(named))
    if wrong is not None:
        return wrong
    q, k, v = query.shape, key.shape, value.shape
    if q[-1] != k[-1]:
        return features(query, key)
    fused = len(q) == 4 and q[:2] == k[:2] == v[:2] and attn_mask is None
    if k[-2] != v[-2] and not fused:  # whose kernel does not compare them
        return of_values(key, value)
    wrong = of_heads(query, key, value) if not enable_gqa else None
    if wrong is not None or attn_mask is None:
        return wrong
    return of_mask(query, key, attn_mask)


def too_few(name: str, given: Meta) -> Unmet:
    """A row of features for each step."""
    shape = given.shape
    return Unmet(
        "wrong-rank",
        f"{{op}} takes at least 2 dims (steps, features), got {len(shape)}: {{{name}}}"
        f" is {text(shape)}",
        Place(name),
        has=len(shape),
        needs=2,
        grants=(Grant(name, Made((1, *shape), given.dtype)),) if shape else (),
        guessed=True,
    )


def of_values(key: Meta, value: Meta) -> Unmet:
    """As many values as keys."""
    k, v = key.shape, value.shape
    return Unmet(
        "keys-and-values",
        f"{{op}} needs a value for each key: {{key}} is {text(k)} and {{value}}"
        f" {text(v)} (..., keys, features)",
        Place("value", len(v) - 2),
        Place("key", len(k) - 2),
        v[-2],
        k[-2],
        (Grant("value", resized(value, -2, k[-2])),) if len(k) == len(v) else (),
    )


def features(query: Meta, key: Meta) -> Unmet:
    """Queries are compared with keys feature by feature."""
    q, k = query.shape, key.shape
    said = f"{{op}} compares {{query}} {text(q)} with {{key}} {text(k)} by features:"
    grant = resized(key, len(k) - 1, q[-1])
    if len(k) > 1 and k[-2] == q[-1]:
        grant = swapped(key, len(k) - 2, len(k) - 1)
        said += f" {q[-1]} against {k[-1]}; it transposes the keys itself"
    else:
        said += f" {q[-1]} against {k[-1]}"
    return Unmet(
        "attention-features",
        said,
        Place("key", len(k) - 1),
        Place("query", len(q) - 1),
        k[-1],
        q[-1],
        (Grant("key", grant),),
    )


def of_heads(query: Meta, key: Meta, value: Meta) -> Unmet | None:
    """Batch and heads broadcast."""
    named = ("query", query), ("key", key), ("value", value)
    for (first, one), (other, two) in combinations(named, 2):
        before, behind = one.shape[:-2], two.shape[:-2]
        back = clash(before, behind)
        if back is None:
            continue
        x, y, at = before[-back], behind[-back], len(behind) - back
        same = len(before) == len(behind)
        return Unmet(
            "batch-dim-mismatch",
            f"{{op}} needs equal batch and heads: {{{first}}} is {text(one.shape)},"
            f" {{{other}}} is {text(two.shape)}, {x} against {y}",
            Place(other, at),
            Place(first, len(before) - back),
            y,
            x,
            (Grant(other, resized(two, at, x)),) if same else (),
            guessed=True,
        )
    return None


def of_mask(query: Meta, key: Meta, mask: Meta) -> Unmet | None:
    """A mask lines up with the scores: queries, then keys."""
    q, k, given = query.shape, key.shape, mask.shape
    if mask.dtype not in ("bool", "float32", query.dtype):
        return dtype_unmet(
            "attn_mask", mask, "bool", f"{{op}} takes a mask of bools or {query.dtype}"
        )
    scores = (*q[:-1], k[-2])
    if not 2 <= len(given) <= len(scores):
        made: Any = (1, k[-2]) if len(given) < 2 else given[len(given) - len(scores) :]
        return Unmet(
            "attention-mask-shape",
            f"{{op}} lays {{attn_mask}} {text(given)} over scores {text(scores)} ="
            " (..., queries, keys): it has at least 2 dims, and no more than these",
            Place("attn_mask"),
            has=text(given),
            needs=text(scores),
            grants=(Grant("attn_mask", Made(made, mask.dtype)),),
        )
    wrong = broadcast([("scores", Made(scores, query.dtype)), ("attn_mask", mask)])
    if wrong is None:
        return None
    dim = next(
        len(given) - b
        for b in range(1, min(len(given), len(scores)) + 1)
        if given[-b] not in (1, scores[-b])
    )
    said = f"{{op}} lays {{attn_mask}} {text(given)} over scores {text(scores)} ="
    said += " (..., queries, keys)"
    made = [
        s if g != 1 else 1 for g, s in zip(given[::-1], scores[::-1], strict=False)
    ][::-1]
    if len(given) == 2 and given == (q[0], k[-2]) and len(scores) == 4:
        said += "; one row for each sample needs dims between: `mask[:, None, None, :]`"
        made = [q[0], 1, 1, k[-2]]
    elif len(given) == 3 and len(scores) == 4 and given[0] == q[0]:
        said += "; one for each sample needs a dim for the heads: `mask[:, None]`"
        made = [q[0], 1, *made[-2:]]
    return Unmet(
        "attention-mask-shape",
        said,
        Place("attn_mask", dim),
        has=text(given),
        needs=text(scores),
        grants=(Grant("attn_mask", Made(tuple(made), mask.dtype)),),
        lines=lined_up([("attn_mask", given)])
        if not wrong.lines
        else (wrong.lines[0].replace("{scores}", "scores"), *wrong.lines[1:]),
    )
