"""An example of each operator, for `shapewright explain NAME`.

Sizes are small and all different, so that it is seen which goes where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EXAMPLES = {
    "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(f32[1, 2, 5, 7], (2, 3))",
    "addmm": "torch.addmm(f32[5], f32[3, 4], f32[4, 5])",
    "affine_grid": "F.affine_grid(f32[1, 2, 3], (1, 1, 3, 4))",
    "arange": "torch.arange(2, 14, 3)",
    "argmax": "torch.argmax(f32[3, 4], dim=1)",
    "as_strided": "f32[12].as_strided((3, 4), (2, 1))",
    "avg_pool2d": "F.avg_pool2d(f32[1, 1, 4, 6], 2)",
    "baddbmm": "torch.baddbmm(f32[2, 3, 5], f32[2, 3, 4], f32[2, 4, 5])",
    "batch_norm": "nn.BatchNorm2d(3)(f32[2, 3, 2, 2])",
    "bmm": "torch.bmm(f32[2, 3, 4], f32[2, 4, 5])",
    "broadcast_to": "torch.broadcast_to(f32[3, 1], (3, 4))",
    "broadcasting": "f32[3, 1] + f32[4]",
    "cat": "torch.cat([f32[2, 3], f32[4, 3]], dim=0)",
    "cdist": "torch.cdist(f32[3, 2], f32[4, 2])",
    "chunk": "torch.chunk(f32[5, 2], 3, dim=0)",
    "clamp": "torch.clamp(f32[3, 4], min=2, max=8)",
    "contiguous": "f32[3, 4].t().contiguous()",
    "conv1d": "F.conv1d(f32[1, 2, 7], f32[3, 2, 3])",
    "conv2d": "F.conv2d(f32[1, 2, 4, 5], f32[3, 2, 3, 3])",
    "conv_transpose2d": "F.conv_transpose2d(f32[1, 1, 2, 3], f32[1, 1, 3, 3], "
    "stride=2)",
    "cross_entropy": "F.cross_entropy(f32[4, 3], i64[4])",
    "cumsum": "torch.cumsum(f32[3, 4], dim=1)",
    "diag": "torch.diag(f32[4])",
    "diagonal": "f32[3, 4].diagonal()",
    "dot": "torch.dot(f32[4], f32[4])",
    "dropout": "F.dropout(f32[3, 4], 0.5)",
    "einsum": 'torch.einsum("bij,bjk->bik", f32[2, 3, 4], f32[2, 4, 5])',
    "embedding": "F.embedding(i64[2, 3], f32[5, 4])",
    "expand": "f32[3, 1].expand(3, 4)",
    "eye": "torch.eye(3, 4)",
    "flatten": "torch.flatten(f32[2, 3, 4], start_dim=1)",
    "flip": "torch.flip(f32[3, 4], (1,))",
    "fold": "F.fold(f32[1, 4, 6], (3, 4), (2, 2))",
    "full": "torch.full((2, 3), 7)",
    "gather": "torch.gather(f32[4, 6], dim=0, index=i64[2, 6])",
    "grid_sample": "F.grid_sample(f32[1, 1, 3, 4], f32[1, 2, 2, 2])",
    "group_norm": "nn.GroupNorm(2, 4)(f32[1, 4, 3])",
    "index_add": "torch.index_add(f32[5, 3], 0, i64[2], f32[2, 3])",
    "index_copy": "torch.index_copy(f32[5, 3], 0, i64[2], f32[2, 3])",
    "index_select": "torch.index_select(f32[4, 5], 1, i64[3])",
    "indexing": "f32[4, 5][1:3, ::2]",
    "interpolate": "F.interpolate(f32[1, 1, 2, 3], scale_factor=2)",
    "kl_div": "F.kl_div(f32[2, 3], f32[2, 3], reduction='batchmean')",
    "l1_loss": "F.l1_loss(f32[3, 4], f32[3, 4])",
    "layer_norm": "nn.LayerNorm(4)(f32[3, 4])",
    "linear": "nn.Linear(4, 3)(f32[2, 4])",
    "log_softmax": "F.log_softmax(f32[3, 4], dim=1)",
    "masked_fill": "f32[3, 4].masked_fill(bool[3, 4], 0)",
    "matmul": "torch.matmul(f32[3, 4], f32[4, 5])",
    "max": "torch.max(f32[3, 4], dim=1)",
    "max_pool2d": "F.max_pool2d(f32[1, 1, 4, 6], 2)",
    "mean": "torch.mean(f32[3, 4], dim=1)",
    "meshgrid": "torch.meshgrid(f32[2], f32[3], indexing='ij')",
    "movedim": "torch.movedim(f32[2, 3, 4], 0, 2)",
    "mse_loss": "F.mse_loss(f32[3, 4], f32[3, 4])",
    "narrow": "f32[5, 3].narrow(0, 1, 2)",
    "nll_loss": "F.nll_loss(f32[4, 3], i64[4])",
    "nonzero": "torch.nonzero(bool[3, 4])",
    "normalize": "F.normalize(f32[3, 4], dim=1)",
    "one_hot": "F.one_hot(i64[4], 5)",
    "outer": "torch.outer(f32[3], f32[4])",
    "pad": "F.pad(f32[2, 3], (1, 2))",
    "permute": "f32[2, 3, 4].permute(2, 0, 1)",
    "pixel_shuffle": "F.pixel_shuffle(f32[1, 4, 2, 3], 2)",
    "randint": "torch.randint(0, 5, (2, 3))",
    "repeat": "f32[2, 3].repeat(2, 2)",
    "repeat_interleave": "torch.repeat_interleave(f32[3, 2], 2, dim=0)",
    "reshape": "f32[4, 6].reshape(3, 8)",
    "roll": "torch.roll(f32[3, 4], 1, dims=1)",
    "scaled_dot_product_attention": (
        "F.scaled_dot_product_attention(f32[1, 1, 3, 4], f32[1, 1, 5, 4], f32[1, "
        "1, 5, 2])"
    ),
    "scatter": "torch.scatter(f32[3, 5], 1, i64[3, 2], f32[3, 2])",
    "scatter_add": "torch.scatter_add(f32[3, 5], 1, i64[3, 2], f32[3, 2])",
    "select": "f32[3, 4].select(0, 1)",
    "slice": "f32[4, 5][1:3, ::2]",
    "softmax": "F.softmax(f32[3, 4], dim=1)",
    "sort": "torch.sort(f32[3, 4], dim=1)",
    "split": "torch.split(f32[6, 2], [1, 3, 2])",
    "squeeze": "torch.squeeze(f32[3, 1, 4], 1)",
    "stack": "torch.stack([f32[3, 4], f32[3, 4]], dim=1)",
    "std": "torch.std(f32[3, 4], dim=1)",
    "sum": "torch.sum(f32[3, 4], dim=1)",
    "t": "f32[3, 4].t()",
    "take_along_dim": "torch.take_along_dim(f32[3, 4], i64[3, 2], dim=1)",
    "tensordot": "torch.tensordot(f32[2, 3, 4], f32[3, 4, 5], dims=2)",
    "tile": "torch.tile(f32[2, 3], (2, 2))",
    "topk": "torch.topk(f32[3, 4], 2, dim=1)",
    "transpose": "f32[2, 3, 4].transpose(0, 1)",
    "tril": "torch.tril(f32[4, 4])",
    "triu": "torch.triu(f32[4, 4])",
    "unbind": "torch.unbind(f32[3, 4], dim=0)",
    "unflatten": "torch.unflatten(f32[2, 12], 1, (3, 4))",
    "unfold": "F.unfold(f32[1, 1, 3, 4], (2, 2))",
    "unsqueeze": "torch.unsqueeze(f32[3, 4], 1)",
    "view": "f32[4, 6].view(3, 8)",
    "where": "torch.where(bool[3, 4], f32[3, 4], f32[4])",
    "zeros": "torch.zeros(2, 3)",
    "AdaptiveAvgPool2d": "nn.AdaptiveAvgPool2d((2, 3))(f32[1, 2, 5, 7])",
    "AvgPool2d": "nn.AvgPool2d(2)(f32[1, 1, 4, 6])",
    "BCEWithLogitsLoss": "F.binary_cross_entropy_with_logits(f32[4], f32[4])",
    "BatchNorm1d": "nn.BatchNorm1d(3)(f32[4, 3])",
    "BatchNorm2d": "nn.BatchNorm2d(3)(f32[2, 3, 2, 2])",
    "Conv1d": "nn.Conv1d(2, 3, 3)(f32[1, 2, 7])",
    "Conv2d": "nn.Conv2d(2, 3, 3)(f32[1, 2, 4, 5])",
    "Conv3d": "nn.Conv3d(1, 2, 2)(f32[1, 1, 3, 3, 4])",
    "ConvTranspose2d": "nn.ConvTranspose2d(1, 1, 3, stride=2)(f32[1, 1, 2, 3])",
    "CrossEntropyLoss": "F.cross_entropy(f32[4, 3], i64[4])",
    "Embedding": "nn.Embedding(5, 4)(i64[2, 3])",
    "Flatten": "nn.Flatten()(f32[2, 3, 4])",
    "GRU": "nn.GRU(3, 4)(f32[5, 2, 3])",
    "GroupNorm": "nn.GroupNorm(2, 4)(f32[1, 4, 3])",
    "LSTM": "nn.LSTM(3, 4)(f32[5, 2, 3])",
    "LayerNorm": "nn.LayerNorm(4)(f32[3, 4])",
    "Linear": "nn.Linear(4, 3)(f32[2, 4])",
    "MSELoss": "F.mse_loss(f32[3, 4], f32[3, 4])",
    "MaxPool2d": "nn.MaxPool2d(2)(f32[1, 1, 4, 6])",
    "MultiheadAttention": "nn.MultiheadAttention(4, 2)(f32[3, 1, 4], f32[5, 1, "
    "4], f32[5, 1, 4])",
    "PixelShuffle": "nn.PixelShuffle(2)(f32[1, 4, 2, 3])",
    "RNN": "nn.RNN(3, 4)(f32[5, 2, 3])",
    "Unfold": "nn.Unfold((2, 2))(f32[1, 1, 3, 4])",
    "Upsample": "nn.Upsample(scale_factor=2)(f32[1, 1, 2, 3])",
    "T": "f32[3, 4].T",
    "mT": "f32[2, 3, 4].mT",
    "xavier_uniform_": "nn.init.xavier_uniform_(f32[3, 4])",
    "kaiming_normal_": "nn.init.kaiming_normal_(f32[3, 4])",
    "pack_padded_sequence": "nn.utils.rnn.pack_padded_sequence(f32[4, 3, 2], [4, "
    "2, 1])",
}
"""Calls by the last part of their name, and a few words for what has none."""

TRIED = (
    "torch.{}(f32[3, 4])",
    "F.{}(f32[3, 4])",
    "torch.{}(f32[3, 4], f32[4])",
    "torch.{}(i64[3, 4], i64[4])",
    "F.{}(f32[3, 4], f32[3, 4])",
    "torch.{}(f32[3, 4], dim=1)",
    "f32[3, 4].{}()",
    "f32[3, 4].{}(f32[4])",
    "torch.{}(2, 3)",
    "nn.{}()(f32[3, 4])",
)
"""Calls that may draw a name of which there is no example, in this order."""

_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)")


def list_examples(text: str) -> Iterator[str]:
    """Yield calls that may draw an operator of which only the name is known.

    Example: ``list_examples("torch.gather")`` yields
    ``"torch.gather(f32[4, 6], dim=0, index=i64[2, 6])"``. Nothing is yielded for a text
    that is not a name.
    """
    match = _NAME.fullmatch(text.strip())
    if match is None:
        return
    name = match[1]
    if name in EXAMPLES:
        yield EXAMPLES[name]
        return
    stem = name.rstrip("_")
    if stem in EXAMPLES:
        yield EXAMPLES[stem]
    for call in TRIED:
        yield call.format(name)
