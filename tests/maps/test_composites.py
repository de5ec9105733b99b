"""What is drawn for a call of several operators is that call, or there is nothing."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import shapewright as sw
from shapewright.commands.explain import explain_call
from shapewright.engine import nests
from shapewright.index_maps.drawn_calls import Side
from shapewright.inputs.errors import InputError

CALLS = """\
nn.MultiheadAttention(16,4)(ROWS, attn_mask=bool[5,5])
nn.MultiheadAttention(16,4)(ROWS, attn_mask=f32[5,5])
nn.MultiheadAttention(16,4)(ROWS, attn_mask=bool[8,5,5])
nn.MultiheadAttention(16,4)(ROWS, key_padding_mask=bool[2,5])
nn.MultiheadAttention(16,4)(ROWS, key_padding_mask=f32[2,5])
nn.MultiheadAttention(16,4)(ROWS, key_padding_mask=bool[2,5], attn_mask=bool[5,5])
nn.MultiheadAttention(16,4)(ROWS)
nn.MultiheadAttention(16,4,batch_first=True)(TURNED)
nn.MultiheadAttention(16,4,batch_first=True)(TURNED, attn_mask=bool[5,5])
nn.MultiheadAttention(16,4,batch_first=True)(OTHERS, key_padding_mask=bool[2,6])
nn.MultiheadAttention(16,4)(f32[5,16], f32[5,16], f32[5,16], attn_mask=bool[5,5])
nn.TransformerEncoderLayer(16,4,8)(f32[5,2,16])
nn.TransformerEncoderLayer(16,4,8)(f32[5,2,16], bool[5,5])
nn.TransformerDecoderLayer(16,4,8)(f32[5,2,16], f32[5,2,16])
nn.Transformer(16,4,1,1,8)(f32[5,2,16], f32[5,2,16])
nn.GRUCell(4,3)(f32[2,4])
nn.GRUCell(4,3)(f32[2,4], f32[2,3])
nn.LSTMCell(4,3)(f32[2,4])
nn.RNNCell(4,3)(f32[2,4])
nn.Bilinear(2,3,4)(f32[5,2],f32[5,3])
nn.CosineEmbeddingLoss()(f32[3,4], f32[3,4], i64[3])
nn.CosineSimilarity()(f32[3,4], f32[3,4])
nn.PairwiseDistance()(f32[3,4], f32[3,4])
nn.TripletMarginLoss()(f32[3,4], f32[3,4], f32[3,4])
nn.TripletMarginWithDistanceLoss()(f32[3,4], f32[3,4], f32[3,4])
nn.CrossEntropyLoss()(f32[3,4], i64[3])
nn.CrossEntropyLoss(label_smoothing=0.1)(f32[3,4], i64[3])
nn.NLLLoss()(f32[3,4], i64[3])
nn.BCEWithLogitsLoss()(f32[3], f32[3])
nn.BCELoss()(f32[3], f32[3])
nn.MSELoss()(f32[3], f32[3])
nn.L1Loss()(f32[3], f32[3])
nn.SmoothL1Loss()(f32[3], f32[3])
nn.HuberLoss()(f32[3], f32[3])
nn.KLDivLoss()(f32[3], f32[3])
nn.CTCLoss()(f32[5,2,4], i64[2,3], i64[2], i64[2])
nn.GaussianNLLLoss()(f32[3,2], f32[3,2], f32[3,2])
nn.PoissonNLLLoss()(f32[3,2], f32[3,2])
nn.MarginRankingLoss()(f32[3], f32[3], f32[3])
nn.HingeEmbeddingLoss()(f32[3], f32[3])
nn.MultiLabelMarginLoss()(f32[3,4], i64[3,4])
nn.MultiLabelSoftMarginLoss()(f32[3,4], f32[3,4])
nn.MultiMarginLoss()(f32[3,4], i64[3])
nn.SoftMarginLoss()(f32[3,4], f32[3,4])
nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5])(f32[3,4], i64[3])
nn.Linear(4,3)(f32[2,4])
nn.Conv1d(4,3,2)(f32[2,4,5])
nn.Conv2d(4,3,2, padding=1)(f32[2,4,5,5])
nn.Conv2d(4,3,2, padding=1, padding_mode="circular")(f32[2,4,5,5])
nn.Conv2d(4,3,2, padding="same", padding_mode="reflect")(f32[2,4,5,5])
nn.ConvTranspose2d(4,3,2)(f32[2,4,5,5])
nn.BatchNorm1d(4)(f32[2,4])
nn.LayerNorm(4)(f32[2,4])
nn.GroupNorm(2,4)(f32[2,4])
nn.InstanceNorm1d(4)(f32[2,4,5])
nn.RMSNorm(4)(f32[2,4])
nn.LocalResponseNorm(2)(f32[2,4,3])
nn.Embedding(5,3)(i64[4])
nn.EmbeddingBag(5,3)(i64[4,2])
nn.MaxPool2d(2)(f32[2,4,4])
nn.MaxPool2d(2, return_indices=True)(f32[2,4,4])
nn.AvgPool2d(2)(f32[2,4,4])
nn.AdaptiveAvgPool2d(2)(f32[2,4,4])
nn.AdaptiveMaxPool2d(2)(f32[2,4,4])
nn.FractionalMaxPool2d(2, output_size=2)(f32[2,4,4])
nn.LPPool2d(2, 2)(f32[2,4,4])
nn.LPPool1d(2, 2)(f32[2,4,4])
nn.MaxUnpool2d(2)(f32[2,2,2], i64[2,2,2])
nn.Softmax(dim=-1)(f32[2,4])
nn.Softmax2d()(f32[2,4,3])
nn.Softmin(dim=-1)(f32[2,4])
nn.LogSoftmax(dim=-1)(f32[2,4])
nn.GLU()(f32[2,4])
nn.GELU()(f32[2,4])
nn.SiLU()(f32[2,4])
nn.Mish()(f32[2,4])
nn.Tanhshrink()(f32[2,4])
nn.Softsign()(f32[2,4])
nn.LogSigmoid()(f32[2,4])
nn.PReLU()(f32[2,4])
nn.RReLU()(f32[2,4])
nn.Threshold(1,2)(f32[2,4])
nn.Hardswish()(f32[2,4])
nn.Dropout()(f32[2,4])
nn.Identity()(f32[2,4])
nn.Flatten()(f32[2,4,2])
nn.Unflatten(1,(2,2))(f32[2,4])
nn.Fold((4,4),2)(f32[1,8,9])
nn.Unfold(2)(f32[1,2,4,4])
nn.PixelShuffle(2)(f32[1,8,3,3])
nn.PixelUnshuffle(2)(f32[1,2,4,4])
nn.ChannelShuffle(2)(f32[1,4,2,2])
nn.Upsample(scale_factor=2)(f32[1,2,2,2])
nn.UpsamplingBilinear2d(scale_factor=2)(f32[1,2,2,2])
nn.ZeroPad2d(1)(f32[1,2,2])
nn.ReflectionPad2d(1)(f32[1,2,2])
nn.ReplicationPad2d(1)(f32[1,2,2])
nn.CircularPad2d(1)(f32[1,2,2])
nn.ConstantPad1d(1, 2.0)(f32[1,2,2])
F.scaled_dot_product_attention(f32[2,3,4], f32[2,3,4], f32[2,3,4], attn_mask=bool[3,3])
F.scaled_dot_product_attention(f32[2,3,4], f32[2,3,4], f32[2,3,4], is_causal=True)
F.cosine_embedding_loss(f32[3,4], f32[3,4], i64[3])
F.gumbel_softmax(f32[3,4])
F.normalize(f32[3,4])
F.cosine_similarity(f32[3,4], f32[3,4])
F.cross_entropy(f32[3,4], i64[3])
F.triplet_margin_loss(f32[3,4], f32[3,4], f32[3,4])
F.pad(f32[1,2,2], (1, 1), mode="circular")
F.pad(f32[1,2,2], (1, 1))
F.interpolate(f32[1,2,2,2], scale_factor=2)
F.max_pool2d(f32[2,4,4], 2, return_indices=True)
F.max_pool2d(f32[2,4,4], 2)
F.adaptive_max_pool2d(f32[2,4,4], 2, return_indices=True)
F.lp_pool2d(f32[2,4,4], 2.0, 2)
F.unfold(f32[1,2,4,4], 2)
F.one_hot(i64[3], 5)
F.grid_sample(f32[1,2,3,3], f32[1,2,2,2])
F.affine_grid(f32[1,2,3], (1, 1, 2, 2))
F.softsign(f32[3])
F.tanhshrink(f32[3])
F.bilinear(f32[5,2], f32[5,3], f32[4,2,3])
F.local_response_norm(f32[2,4,3], 2)
F.multilabel_soft_margin_loss(f32[3,4], f32[3,4])
F.gaussian_nll_loss(f32[3,2], f32[3,2], f32[3,2])
F.embedding_bag(i64[4,2], f32[5,3])
torch.norm(f32[3,4])
torch.norm(f32[3,4], dim=1)
torch.einsum("ij,kj->ik", f32[3,4], f32[2,4])
torch.einsum("bij,bjk,bkl->bil", f32[2,3,4], f32[2,4,5], f32[2,5,2])
torch.cdist(f32[3,4], f32[2,4])
torch.stft(f32[16], 4, return_complex=True)
torch.meshgrid(f32[3], f32[2], indexing="ij")
torch.split(f32[6,2], 2)
torch.tensordot(f32[3,4], f32[4,2], 1)
torch.chain_matmul(f32[2,3], f32[3,4], f32[4,2])
torch.block_diag(f32[2,3], f32[1,2])
torch.cartesian_prod(f32[3], f32[2])
torch.atleast_2d(f32[3])
torch.broadcast_tensors(f32[3,1], f32[4])
torch.lu(f32[3,3])
torch.unravel_index(i64[3], (2, 3))
torch.stack([f32[3], f32[3]])
"""
for name, text in {
    "ROWS": "f32[5,2,16], f32[5,2,16], f32[5,2,16]",
    "TURNED": "f32[2,5,16], f32[2,5,16], f32[2,5,16]",
    "OTHERS": "f32[2,5,16], f32[2,6,16], f32[2,6,16]",
}.items():
    CALLS = CALLS.replace(name, text)

UNDRAWN = (
    "F.gaussian_nll_loss",
    "torch.chain_matmul",
    "torch.block_diag",
    "torch.cartesian_prod",
    "torch.atleast_2d",
    "torch.lu(",
    "torch.unravel_index",
    "torch.stft",
)
"""Functions of torch that are no operators, and are refused in a sentence."""

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool}
SPEC = re.compile(r"\b(f32|i64|bool)\[([\d, ]*)\]")


class Given:
    """The tensors of a call in text, made with torch itself."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []

    def __call__(self, dtype: str, *shape: int) -> torch.Tensor:
        made = torch.ones(shape, dtype=DTYPES[dtype])
        if dtype == "f32":
            made = torch.rand(shape)
        if dtype == "bool":  # a mask that leaves nothing is not what is asked about
            made = torch.zeros(shape, dtype=torch.bool)
        self.tensors.append(made)
        return made


def coded(text: str) -> str:
    """A call in text as Python that makes its tensors with `T`."""
    return SPEC.sub(r'T("\1", \2)', text)


def really(text: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The tensors that a call gets and gives."""
    given = Given()
    torch.manual_seed(0)
    with torch.no_grad():
        names: dict[str, Any] = {"nn": nn, "F": F, "torch": torch, "T": given}
        out = eval(coded(text), names)
    return given.tensors, nests.collect_tensors(out)


def kinds(tensors: list[torch.Tensor]) -> list[tuple[tuple[int, ...], str]]:
    return [(tuple(t.shape), str(t.dtype).removeprefix("torch.")) for t in tensors]


def kinds_of(sides: tuple[Side, ...]) -> list[tuple[tuple[int, ...], str]]:
    return [(side.shape, side.dtype) for side in sides]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", CALLS.splitlines())
def test_what_is_drawn_is_the_call(text: str) -> None:
    if text.startswith(UNDRAWN):
        with pytest.raises(InputError, match="not one of the operators that are drawn"):
            explain_call(text)
        return
    drawn = explain_call(text)
    assert not drawn.error
    if not drawn.maps:
        assert drawn.reason
    given, made = really(text)
    assert not Counter(kinds(given)) - Counter(kinds_of(drawn.inputs))
    assert Counter(kinds(made)) == Counter(kinds_of(drawn.outputs))


FUNCTIONS = [text for text in CALLS.splitlines() if not text.startswith("nn.")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", FUNCTIONS)
def test_with_tensors_too(text: str) -> None:
    name, _, rest = text.partition("(")
    given, made = really(text)
    left = iter(given)
    names: dict[str, Any] = {"T": lambda *_: next(left)}
    names["arguments"] = lambda *args, **kwargs: (args, kwargs)
    args, kwargs = eval("arguments(" + coded(rest), names)
    func = eval(name, {"F": F, "torch": torch})
    drawn = sw.explain(func, *args, **kwargs).drawn
    assert drawn.maps or drawn.reason
    assert not Counter(kinds(given)) - Counter(kinds_of(drawn.inputs))
    assert Counter(kinds(made)) == Counter(kinds_of(drawn.outputs))


def test_masks_of_attention_are_drawn() -> None:
    mask = "attn_mask=bool[5, 5], key_padding_mask=bool[2, 5]"
    rows = ", ".join(["f32[5, 2, 8]"] * 3)
    drawn = explain_call(f"nn.MultiheadAttention(8, 2)({rows}, {mask})")
    assert drawn.maps
    masks = [side for side in drawn.inputs if side.name.endswith("mask")]
    assert sorted((side.name, side.shape, side.dtype) for side in masks) == [
        ("attn_mask", (5, 5), "bool"),
        ("key_padding_mask", (2, 5), "bool"),
    ]


def test_what_a_layer_makes_first_is_said() -> None:
    call = 'nn.Conv1d(4, 3, 2, padding=1, padding_mode="circular")(f32[2, 3, 5])'
    drawn = explain_call(call)
    assert drawn.error
    assert "`torch.conv1d` gets what the layer computes from its inputs" in drawn.notes


def test_without_a_drawing_there_is_a_reason() -> None:
    turned = "nn.MultiheadAttention(8, 2, batch_first=True)"
    rows = ", ".join(["f32[2, 5, 8]"] * 3)
    assert "`batch_first`" in explain_call(f"{turned}({rows})").reason
    layer = explain_call("nn.TransformerEncoderLayer(8, 2, 16)(f32[5, 2, 8])")
    assert layer.reason == "it is several calls of torch, which are not drawn as one"
