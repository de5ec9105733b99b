"""`flex_attention`, an operator of operators, which torch runs through its compiler.

Its result has the layout of the query. What the program's `score_mod` and `mask_mod` do
to one score is tried on numbers, since torch refuses what is no number any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from shapewright.capture.settling import settle, versions_of

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def attend(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """The output, the logarithms of the sums, and the largest scores, without data."""
    tensors = args[:3]
    infos = [engine.info(each) for each in tensors]
    shape, others = infos[0].meta.shape, infos[1].meta.shape
    _check_batches(engine, shape[0], others[0])
    score = _first_score(engine, args[3], args[4])
    scored = engine.info(score)
    grad = any(info.meta.requires_grad for info in (*infos, scored))
    if grad and torch.is_grad_enabled() and not engine.graph:
        from shapewright.capture.engine import NeedsGraph

        raise NeedsGraph("flex_attention")
    with torch._C.DisableTorchFunction():
        before = [engine.blank_of(each) for each in tensors]
        versions = versions_of(before)
        query, key, value = before
        key, value = (
            each.expand(shape[0], *each.shape[1:]).repeat_interleave(
                shape[1] // each.shape[1], dim=1
            )
            for each in (key, value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value)
        if scored.meta.requires_grad:  # it has parameters of the program's
            attended = attended + engine.blank_of(score).to(attended.dtype)
        working = torch.promote_types(query.dtype, torch.float32)
        sums = attended.detach().sum(-1, dtype=working)
        if attended.requires_grad:
            sums = attended.sum(-1, dtype=working)
        out = attended.new_empty_strided(
            attended.shape, strides_like(attended.shape, infos[0].meta.stride)
        ).copy_(attended)
        outs = out, sums, sums.clone()
    kept = (*tensors, *(each for each in args[5:6] if isinstance(each, float)))
    return settle(engine, func, kept, {}, infos, before, versions, outs, known=False)


def strides_like(shape: tuple[int, ...], model: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dims lie in the order of another's.

    Example: for a query that is a transposed ``(B, T, H, D)``, the output is one too.
    """
    order = sorted(range(len(shape)), key=lambda dim: model[dim])
    order.remove(len(shape) - 1)  # kernels read along the last dim
    strides, step = [1] * len(shape), shape[-1]
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _check_batches(engine: Engine, query: int, keys: int) -> None:
    if query != keys and keys != 1:
        engine.raise_theirs(
            RuntimeError(f"Bq and Bkv must broadcast. Got Bq={query} and Bkv={keys}")
        )


def _first_score(engine: Engine, score_mod: Any, block_mask: Any) -> torch.Tensor:
    """The program's functions, called as torch calls them, for the first score."""
    recording, engine.recording = engine.recording, False
    try:
        with engine:
            places = [torch.tensor(0, dtype=torch.int32) for _ in range(4)]
            score = score_mod(torch.tensor(1.0), *places)
            mask_mod = block_mask[-1]
            mask = mask_mod(*places) if callable(mask_mod) else None
    except Exception as error:
        engine.raise_theirs(error)
    finally:
        engine.recording = recording
    for name, made in (("score_mod", score), ("mask_mod", mask)):
        if isinstance(made, torch.Tensor) and made.dim():
            engine.raise_theirs(
                RuntimeError(
                    f"`{name}` must give one number for one score, and gives "
                    f"{tuple(made.shape)}"
                )
            )
    return score if isinstance(score, torch.Tensor) else torch.tensor(score)
