"""FlexAttention without data: what torch computes for it on the CPU, and on a GPU."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from torch.nn.attention import flex_attention as flex

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch.nn.attention.flex_attention import (
    BlockMask, and_masks, create_block_mask, create_mask, flex_attention, noop_mask,
    or_masks,
)


def causal(b, h, i, j):
    return i >= j


def near(b, h, i, j):
    return i - j < 40


def make(B, H, T, D, order, dtype):
    shape = [(B, H, T, D)[dim] for dim in order]
    x = torch.randn(shape, dtype=dtype)
    return x.permute([order.index(dim) for dim in range(4)])


def describe(x):
    if isinstance(x, torch.Tensor):
        return tuple(x.shape), x.stride(), str(x.dtype)
    if isinstance(x, BlockMask):
        parts = x.kv_num_blocks, x.kv_indices, x.full_kv_indices, x.q_indices
        return x.shape, x.BLOCK_SIZE, *[describe(part) for part in parts]
    if isinstance(x, (tuple, list)):
        return [describe(part) for part in x]
    return x


def attempt(call):
    try:
        return describe(call())
    except Exception as error:
        return type(error).__name__


"""


def make_calls(seed: int, count: int) -> list[str]:
    """Return random calls, of which some are refused."""
    draw = random.Random(seed)
    calls = []
    for _ in range(count):
        sizes = (1, 2), (4, 6), (64, 200), (16, 8)
        B, H, T, D = (draw.choice(choices) for choices in sizes)
        keys, heads = draw.choice((T, T, 64, 130)), draw.choice((H, H, 2, 3, 1))
        orders = (0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (0, 1, 3, 2)
        dtype = draw.choice(("torch.float32", "torch.bfloat16"))
        q, k, v = (
            f"make({batch}, {h}, {t}, {d}, {draw.choice(orders)}, {dtype})"
            for batch, h, t, d in (
                (B, H, T, D),
                (draw.choice((B, B, B, 1)), heads, keys, draw.choice((D, D, D, 4))),
                (B, heads, keys, draw.choice((D, D, 32))),
            )
        )
        masks = (
            "None", "None",
            f"create_block_mask(causal, None, None, {T}, {keys}, device='cpu')",
            f"create_block_mask(and_masks(causal, near), {B}, {draw.choice((1, H))}, "
            f"{T}, {keys}, 'cpu', BLOCK_SIZE={draw.choice((32, 128, (64, 32)))})",
            f"create_block_mask(or_masks(causal, noop_mask), 1, 1, {T}, 200, "
            "device='cpu')",
        )  # fmt: skip
        names = "lambda s, b, h, i, j"
        scores = "None", f"{names}: s + (i - j)", f"{names}: s * 2"
        calls.append(
            f"flex_attention({q}, {k}, {v}, {draw.choice(scores)}, "
            f"{draw.choice(masks)}, enable_gqa={draw.choice((True, False))}, "
            f"scale={draw.choice((None, 0.5))}, "
            f"return_lse={draw.choice((True, False))}, "
            f"kernel_options={draw.choice((None, {'BLOCK_M': 32}))})"
        )
    return calls


MASKS = (
    "create_block_mask(causal, 2, 4, 300, 300, device='cpu', BLOCK_SIZE=64)",
    "create_block_mask(causal, 2, None, 300, 512, device='cpu', BLOCK_SIZE=(64, 128))",
    "create_block_mask(causal, 2, 4, 300, 300, device='cpu')[:, 1:3]",
    "create_block_mask(causal, 2, 4, 300, 300, device='cpu')[0]",
    "create_block_mask(causal, 2, 4, 512, 512, device='cpu')._adjust(256, 256)",
    "create_block_mask(causal, 1, 1, 300, 300, device='cpu').to_dense()",
    "create_block_mask(causal, 1, 1, 300, 300, device='cpu').numel()",
    "create_mask(or_masks(causal, near), 1, 1, 300, 200, device='cpu')",
    "create_block_mask(lambda b, h, i: i > 1, 1, 1, 300, 300, device='cpu')",
    "create_block_mask(lambda b, h, i, j: i - j, 1, 1, 300, 300, device='cpu')",
    "flex_attention(torch.ones(2, 3, 4), torch.ones(2, 3, 4), torch.ones(2, 3, 4))",
    "flex_attention(*[torch.ones(1, 2, 3, 4, requires_grad=True)] * 3)",
    "flex_attention(*[torch.ones(1, 2, 200, 4)] * 3, "
    "block_mask=create_block_mask(causal, 1, 1, 200, 200, device='cpu')[0])",
)


def run_for_real(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the shapes, strides and dtypes that torch computes, or its refusals."""
    space: dict[str, Any] = {}
    exec(PROGRAM, space)
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
        return [eval(f"attempt(lambda: {call})", space) for call in calls]


@pytest.mark.long
@pytest.mark.skipif(
    not hasattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"),
    reason="this torch compiles it always",
)
@pytest.mark.filterwarnings("ignore")
def test_shapes_strides_and_refusals_are_those_of_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [*make_calls(7, 40), *MASKS]
    real = run_for_real(calls, monkeypatch)
    refusals = {result for result in real if isinstance(result, str)}
    assert {"ValueError", "RuntimeError"} <= refusals
    lines = [
        f"result = attempt(lambda: {call})\nassert result == {value!r}, result"
        for call, value in zip(calls, real, strict=True)
    ]
    report = rehearsed(tmp_path, PROGRAM + "\n".join(lines))
    assert [each.message for each in report.findings] == []


TRAINED = """\
    import torch
    from torch import nn
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    from torch.utils.checkpoint import checkpoint

    attend = torch.compile(flex_attention)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(64, 128), nn.Linear(64, 64)
            self.bias = nn.Parameter(torch.zeros(4))

        def forward(self, x, mask):
            q, k, v = (
                part.unflatten(-1, (-1, 16)).transpose(1, 2)
                for part in self.qkv(x).split([64, 32, 32], -1)
            )
            def score(s, b, h, i, j):
                return s + self.bias[h] * (i - j)
            y, lse = attend(
                q, k, v, score_mod=score, block_mask=mask, enable_gqa=True,
                return_lse=True,
            )
            assert y.device == lse.device == x.device
            assert y.stride() == (256 * 64, 16, 64, 1)
            assert lse.shape == (2, 4, 256) and lse.dtype == torch.float32
            return self.out(y.transpose(1, 2).flatten(2))

    def causal(b, h, i, j):
        return i >= j

    x = torch.randn(2, 256, 64, device="cuda")
    mask = create_block_mask(causal, 2, None, 256, 256, device="cuda")
    assert mask.kv_indices.device == x.device
    model = Attention().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(20):
        loss = {call}.square().mean()
        optimizer.zero_grad()
        loss.backward()
        for each in model.parameters():
            assert each.grad.shape == each.shape and each.grad.device == x.device
        optimizer.step()
    """


@pytest.mark.parametrize(
    "call", ["model(x, mask)", "checkpoint(model, x, mask, use_reentrant=False)"]
)
def test_it_trains_on_a_gpu(tmp_path: Path, call: str) -> None:
    report = rehearsed(tmp_path, TRAINED.format(call=call), device="cuda")
    assert [each.message for each in report.findings] == []
    assert report.rehearsal is not None
    assert report.rehearsal.steps >= 3


def test_keys_of_a_lower_precision_keep_the_device(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch.nn.attention.flex_attention import flex_attention
        q = torch.randn(1, 2, 8, 4, device="cuda", requires_grad=True)
        y = flex_attention(q, q.bfloat16(), q.bfloat16())
        assert y.device == q.device and y.dtype == q.dtype
        """
    assert rehearsed(tmp_path, text, device="cuda").findings == ()


def test_a_mask_on_another_device_is_refused(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        q = torch.randn(1, 2, 8, 4, device="cuda")
        mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 8, 8, device="cpu")
        flex_attention(q, q, q, block_mask=mask.to("cuda"))
        flex_attention(q, q, q, block_mask=mask)
        """
    (found,) = rehearsed(tmp_path, text, device="cuda").findings
    assert "block_mask to be on the same device" in found.message
    assert found.span is not None
    assert found.span.line == 6
