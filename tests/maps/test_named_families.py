"""One call of every family that the documentation names: drawn, and equal to torch."""

from __future__ import annotations

import pytest

from shapewright import explain

CALLS = """
f32[2, 6].view(3, 4)
f32[2, 6].reshape(-1)
f32[2, 3].t().reshape(6)
f32[2, 3].transpose(0, 1)
f32[2, 3, 4].permute(2, 0, 1)
f32[3, 1].expand(3, 4)
f32[3].unsqueeze(0)
f32[1, 3, 1].squeeze()
f32[2, 3].t().contiguous()
f32[2, 3, 4, 5].contiguous(memory_format=torch.channels_last)
f32[4, 6][1:3, ::2]
f32[4][:, None]
f32[4, 5][1, ..., None]
torch.arange(2, 12, 3)
torch.linspace(0, 1, 5)
torch.full((2, 3), 7)
torch.eye(3, 4)
torch.meshgrid(f32[3], f32[4], indexing='ij')
torch.meshgrid(f32[3], f32[4], indexing='xy')
torch.tril(f32[4, 4])
torch.tril_indices(4, 4)
f32[3, 1] + f32[4]
torch.dot(f32[3], f32[3])
torch.mv(f32[2, 3], f32[3])
torch.mm(f32[2, 3], f32[3, 4])
torch.bmm(f32[2, 3, 4], f32[2, 4, 5])
torch.matmul(f32[2, 1, 3, 4], f32[5, 4, 6])
f32[3] @ f32[2, 3, 4]
torch.outer(f32[3], f32[4])
torch.einsum('bik,bkj->bij', f32[2, 3, 4], f32[2, 4, 5])
torch.einsum('bnk, bkm', f32[2, 3, 4], f32[2, 4, 5])
torch.tensordot(f32[2, 3, 4], f32[3, 4, 5], 2)
torch.kron(f32[2, 2], f32[2, 3])
torch.gather(f32[4, 6], 0, i64[2, 6])
torch.scatter(f32[4, 6], 0, i64[2, 6], f32[2, 6])
torch.scatter_add(f32[4, 6], 0, i64[2, 6], f32[2, 6])
torch.scatter_reduce(f32[4, 6], 0, i64[2, 6], f32[2, 6], 'amax')
torch.index_select(f32[4, 6], 1, i64[3])
torch.index_add(f32[4, 6], 0, i64[3], f32[3, 6])
torch.index_put(f32[4, 6], (i64[3], i64[3]), f32[3], True)
torch.take_along_dim(f32[4, 6], i64[4, 1], 1)
f32[4, 6][bool[4, 6]]
torch.masked_select(f32[4, 6], bool[4, 6])
torch.masked_fill(f32[4, 6], bool[4, 6], 0.5)
torch.where(bool[4, 6], f32[4, 6], f32[6])
F.one_hot(i64[5], 10)
F.conv1d(f32[1, 2, 8], f32[3, 2, 3])
F.conv2d(f32[1, 4, 6, 6], f32[6, 2, 3, 3], groups=2, padding=1)
F.conv3d(f32[1, 2, 4, 4, 4], f32[3, 2, 2, 2, 2])
F.conv_transpose2d(f32[1, 2, 3, 3], f32[2, 3, 2, 2], stride=2)
F.max_pool2d(f32[1, 2, 6, 6], 2)
F.avg_pool2d(f32[1, 2, 6, 6], 3, padding=1)
F.adaptive_avg_pool2d(f32[1, 2, 5, 6], 3)
F.unfold(f32[1, 2, 5, 5], 3)
F.fold(f32[1, 18, 9], (5, 5), 3)
F.pixel_shuffle(f32[1, 8, 2, 3], 2)
F.interpolate(f32[1, 2, 4, 4], scale_factor=2)
F.interpolate(f32[1, 2, 4, 4], size=7, mode='bilinear')
torch.cat([f32[2, 3], f32[1, 3]])
torch.stack([f32[2, 3], f32[2, 3]], 1)
torch.split(f32[6, 2], 4)
torch.chunk(f32[6, 2], 3)
torch.flatten(f32[2, 3, 4], 1)
f32[6, 2].unflatten(0, (2, 3))
f32[2, 3].repeat(2, 2)
torch.repeat_interleave(f32[2, 3], 2, 1)
torch.roll(f32[2, 5], 2, 1)
torch.flip(f32[2, 5], [1])
F.pad(f32[2, 5], (1, 2))
F.pad(f32[1, 2, 5], (1, 2), mode='reflect')
F.pad(f32[1, 2, 5], (1, 2), mode='replicate')
F.pad(f32[1, 2, 5], (1, 2), mode='circular')
torch.sum(f32[2, 3, 4], (0, 2), keepdim=True)
torch.mean(f32[2, 3], 1)
torch.cumsum(f32[2, 5], 1)
torch.softmax(f32[2, 5], 1)
torch.argmax(f32[2, 5], 1)
torch.sort(f32[2, 5], 1, descending=True)
torch.topk(f32[2, 5], 2)
torch.addcmul(f32[2, 3], f32[3], f32[2, 1], value=2)
torch.lerp(f32[2, 3], f32[3], 0.5)
F.embedding(i64[2, 3], f32[10, 4])
F.layer_norm(f32[2, 3, 4], (4,))
F.rms_norm(f32[2, 3, 4], (4,))
F.group_norm(f32[2, 4, 3, 3], 2)
F.instance_norm(f32[2, 4, 3, 3])
F.batch_norm(f32[4, 3], None, None, training=True)
F.batch_norm(f32[4, 3], f32[3], f32[3])
torch.cdist(f32[3, 4], f32[5, 4])
F.nll_loss(f32[4, 3], i64[4])
F.cross_entropy(f32[4, 3], i64[4])
F.cross_entropy(f32[4, 3, 2], i64[4, 2])
F.mse_loss(f32[4, 3], f32[4, 3])
F.scaled_dot_product_attention(f32[2, 3, 4], f32[2, 5, 4], f32[2, 5, 4], is_causal=True)
nn.MultiheadAttention(4, 2)(f32[3, 4], f32[5, 4], f32[5, 4])
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
@pytest.mark.filterwarnings("ignore")
def test_it_is_drawn(call: str) -> None:
    made = explain(call).drawn
    assert not made.error, made.error
    assert made.maps, made.reason
    assert made.checked


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("torch.empty(2, 3)", "whatever the memory held"),
        ("torch.rand(2, 3)", "random number from 0"),
        ("torch.randn(2, 3)", "normal distribution"),
        ("torch.randint(0, 5, (2, 3))", "random whole number"),
        ("torch.randperm(5)", "order of its numbers is random"),
    ],
)
def test_what_follows_from_no_formula_says_so(call: str, reason: str) -> None:
    assert reason in explain(call).drawn.reason


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("f32[2, 6].reshape(3, 4)", "a view: `out` shares the storage of `input`"),
        (
            "f32[2, 3].t().reshape(6)",
            "It copies: the input lies in storage",
        ),
    ],
)
def test_a_reshape_is_a_view_or_a_copy(call: str, line: str) -> None:
    assert line in " ".join(str(explain(call)).split("\n"))


@pytest.mark.parametrize(
    "call", ["F.unfold(f32[1, 1, 4, 4], 3)", "F.fold(f32[1, 9, 4], (4, 4), 3)"]
)
def test_how_often_a_pixel_is_touched_is_counted(call: str) -> None:
    summed = "1 to 4 are summed into each element"
    said = "is read 1 to 4 times" if "unfold" in call else summed
    assert said in str(explain(call))
