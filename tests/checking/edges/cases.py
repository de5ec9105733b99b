"""Small models whose other sizes break, and such that take them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent, indent
from typing import Any

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

"""


@dataclass(frozen=True)
class Case:
    """A model, the sizes it is given, and what is to be told of others.

    `inputs` is written in letters, of which `sizes` has the values. `told`:
    "severity code at a=1, b=2 in mode", then the text of the line.
    """

    name: str
    layers: str
    forward: str
    inputs: str
    sizes: dict[str, int]
    told: tuple[tuple[str, str], ...] = ()
    breaks: dict[str, int] = field(default_factory=dict)
    training: bool = False
    gives: Any = None

    @property
    def text(self) -> str:
        """The file; `forward` begins with the names of the inputs."""
        names, _, body = dedent(self.forward).strip().partition(":\n")
        letters = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return (
            f"{HEAD}\nclass Model(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            f"{indent(dedent(self.layers).strip(), ' ' * 8)}\n\n"
            f"    def forward(self, {names}):\n{indent(dedent(body), ' ' * 8)}\n\n\n"
            f"def example_inputs({letters}):\n    return ({self.inputs},)\n"
        )


IMAGES = {"B": 8, "H": 32, "W": 32}
IMAGE = "torch.randn(B, 3, H, W)"
TOKENS = "torch.randint(0, 50, (B, T))"
TEXT = {"B": 4, "T": 12}
POOLED = """
self.conv = nn.Conv2d(3, 16, 3, padding=1)
self.pool = nn.AdaptiveAvgPool2d(1)
self.fc = nn.Linear(16, 10)
"""
UNET = """
self.down = nn.Conv2d(3, 8, 3, padding=1)
self.inner = nn.Conv2d(8, 8, 3, padding=1)
self.up = nn.Conv2d(16, 2, 3, padding=1)
"""
ONE = {"B": 1}

WRONG = [
    Case("squeeze_in_front_of_linear", POOLED, """x:
        x = self.pool(self.conv(x)).squeeze()
        return self.fc(x)
        """, IMAGE, IMAGES,
        (("warning lost-batch B=1", "x = self.pool(self.conv(x)).squeeze()"),),
        ONE, gives=(10,)),
    Case("squeeze_at_the_end", "self.fc = nn.Linear(6, 1)", """x:
        return self.fc(x).squeeze()
        """, "torch.randn(B, 6)", {"B": 16},
        (("warning lost-batch B=1", "return self.fc(x).squeeze()"),), ONE, gives=()),
    Case("squeeze_then_unpack", POOLED, """x:
        x = self.pool(self.conv(x)).squeeze()
        b, c = x.shape
        return self.fc(x).view(b, 10)
        """, IMAGE, IMAGES,
        (("warning unpacked-sizes B=1", "b, c = x.shape"),), ONE),
    Case("squeeze_then_dim_one", POOLED, """x:
        x = self.pool(self.conv(x)).squeeze()
        return torch.softmax(self.fc(x), dim=1)
        """, IMAGE, IMAGES,
        (("warning dim-out-of-range B=1", "return torch.softmax(self.fc(x), dim=1)"),),
        ONE),
    Case("squeeze_then_cat", POOLED + "self.more = nn.Linear(32, 4)", """x:
        a = self.pool(self.conv(x)).squeeze()
        b = self.pool(self.conv(x)).flatten(1)
        return self.more(torch.cat([a, b], dim=1))
        """, IMAGE, IMAGES,
        (("warning dim-out-of-range B=1",
          "return self.more(torch.cat([a, b], dim=1))"),),
        ONE),
    Case("batch_in_a_view", POOLED, """x:
        x = self.pool(self.conv(x)).view(8, -1)
        return self.fc(x)
        """, IMAGE, IMAGES,
        (("warning batch-hard-coded B=1, B=2, B=3, B=9, B=16", "return self.fc(x)"),),
        ONE),
    Case("batch_in_a_view_of_fixed_width", POOLED, """x:
        return self.fc(self.pool(self.conv(x)).view(8, 16))
        """, IMAGE, IMAGES,
        (("warning batch-hard-coded B=1, B=2, B=3, B=9, B=16",
          "return self.fc(self.pool(self.conv(x)).view(8, 16))"),), ONE),
    Case("batch_in_a_view_and_nothing_after_it", "self.conv = nn.Conv2d(3, 4, 3)", """x:
        return self.conv(x).view(4, -1)
        """, "torch.randn(B, 3, 10, 10)", {"B": 4},
        (("warning batch-hard-coded B=2", "return self.conv(x).view(4, -1)"),),
        {"B": 2}, gives=(4, 128)),
    Case("hidden_state_of_a_fixed_batch", """
        self.rnn = nn.GRU(6, 8, batch_first=True)
        self.register_buffer("h0", torch.zeros(1, 4, 8))
        """, """x:
        out, h = self.rnn(x, self.h0)
        return out
        """, "torch.randn(B, T, 6)", TEXT,
        (("warning batch-hard-coded B=1, B=2, B=3, B=5, B=8",
          "out, h = self.rnn(x, self.h0)"),), ONE),
    Case("state_of_a_cell_of_a_fixed_batch", """
        self.cell = nn.LSTMCell(6, 8)
        self.h = torch.zeros(4, 8)
        """, """x:
        h, c = self.h, self.h
        for t in range(x.size(1)):
            h, c = self.cell(x[:, t], (h, c))
        return h
        """, "torch.randn(B, T, 6)", TEXT,
        (("warning batch-hard-coded B=1, B=2, B=3, B=5, B=8",
          "h, c = self.cell(x[:, t], (h, c))"),), ONE),
    Case("positions_expanded_to_a_fixed_batch", """
        self.embed = nn.Embedding(50, 8)
        self.cls = nn.Parameter(torch.zeros(1, 1, 8))
        """, """x:
        x = self.embed(x)
        return torch.cat([self.cls.expand(4, -1, -1), x], dim=1)
        """, TOKENS, TEXT,
        (("warning batch-hard-coded B=1, B=2, B=3, B=5, B=8",
          "return torch.cat([self.cls.expand(4, -1, -1), x], dim=1)"),), ONE),
    Case("batch_norm_of_one_row", """
        self.fc = nn.Linear(6, 8)
        self.bn = nn.BatchNorm1d(8)
        """, """x:
        return self.bn(self.fc(x))
        """, "torch.randn(B, 6)", {"B": 16},
        (("note one-value-per-channel B=1", "return self.bn(self.fc(x))"),),
        ONE, training=True),
    Case("batch_norm_after_a_pool", POOLED + "self.bn = nn.BatchNorm2d(16)", """x:
        return self.fc(self.bn(self.pool(self.conv(x))).flatten(1))
        """, IMAGE, IMAGES,
        (("note one-value-per-channel B=1",
          "return self.fc(self.bn(self.pool(self.conv(x))).flatten(1))"),),
        ONE, training=True),
    Case("two_halves_of_a_batch", "self.fc = nn.Linear(6, 8)", """x:
        x = self.fc(x)
        pairs = x.view(2, x.size(0) // 2, 8)
        return pairs.transpose(0, 1).reshape(-1, 8)
        """, "torch.randn(B, 6)", {"B": 16},
        (("warning element-count-mismatch B=1",
          "pairs = x.view(2, x.size(0) // 2, 8)"),), ONE),
    Case("groups_of_the_batch", "self.fc = nn.Linear(6, 8)", """x:
        y = self.fc(x)
        mean = y.view(-1, 2, 8).mean(1)
        return y - mean.repeat_interleave(2, 0)
        """, "torch.randn(B, 6)", {"B": 16},
        (("warning does-not-divide B=1", "mean = y.view(-1, 2, 8).mean(1)"),),
        ONE),
    Case("topk_over_the_batch", "self.fc = nn.Linear(6, 8)", """x:
        y = self.fc(x)
        best = y.topk(2, dim=0).values
        return y + best.mean(0)
        """, "torch.randn(B, 6)", {"B": 16},
        (("warning k-too-large B=1", "best = y.topk(2, dim=0).values"),), ONE),
    Case("one_branch_of_evaluation_has_other_features", """
        self.fc = nn.Linear(6, 8)
        self.out = nn.Linear(8, 3)
        """, """x:
        y = self.fc(x)
        if not self.training:
            y = x
        return self.out(y)
        """, "torch.randn(B, 6)", {"B": 16},
        (("warning inner-dim-mismatch ", "return self.out(y)"),), {}),
    Case("skip_of_a_unet", UNET, """x:
        a = F.relu(self.down(x))
        b = self.inner(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2)
        return self.up(torch.cat([a, b], dim=1))
        """, IMAGE, IMAGES,
        (("note joined-sizes-differ H=33, W=33",
          "return self.up(torch.cat([a, b], dim=1))"),), {"H": 33}),
    Case("skips_of_a_deep_unet", UNET + "self.t = nn.ConvTranspose2d(8, 8, 4, 4)", """x:
        a = F.relu(self.down(x))
        b = self.t(self.inner(F.max_pool2d(a, 4)))
        return self.up(torch.cat([a, b], dim=1))
        """, IMAGE, IMAGES,
        (("note joined-sizes-differ H=33, W=33",
          "return self.up(torch.cat([a, b], dim=1))"),), {"W": 33}),
    Case("sum_of_two_scales", UNET, """x:
        a = self.down(x)
        b = F.interpolate(F.avg_pool2d(a, 2), scale_factor=2)
        return a + b
        """, IMAGE, IMAGES,
        (("note broadcast-mismatch H=33, W=33", "return a + b"),), {"H": 33}),
    Case("windows_without_padding", "self.conv = nn.Conv2d(3, 8, 3, padding=1)", """x:
        x = self.conv(x)
        b, c, h, w = x.shape
        x = x.view(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(-1, 16, c)
        """, IMAGE, IMAGES,
        (("note element-count-mismatch H=33, W=33",
          "x = x.view(b, c, h // 4, 4, w // 4, 4).permute(0, 2, 4, 3, 5, 1)"),),
        {"H": 33}),
    Case("audio_skips", """
        self.down = nn.Conv1d(1, 8, 4, stride=2, padding=1)
        self.up = nn.ConvTranspose1d(8, 1, 4, stride=2, padding=1)
        """, """x:
        return x + self.up(self.down(x))
        """, "torch.randn(B, 1, L)", {"B": 4, "L": 400},
        (("note broadcast-mismatch L=401", "return x + self.up(self.down(x))"),),
        {"L": 401}),
    Case("pairs_of_steps", """
        self.embed = nn.Embedding(50, 8)
        self.fc = nn.Linear(16, 8)
        """, """x:
        x = self.embed(x)
        b, t, c = x.shape
        return self.fc(x.view(b, t // 2, 2 * c))
        """, TOKENS, TEXT,
        (("note element-count-mismatch T=1",
          "return self.fc(x.view(b, t // 2, 2 * c))"),),
        {"T": 1}),
    Case("one_token_squeezed", """
        self.embed = nn.Embedding(50, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        """, """x:
        x = self.embed(x)
        out, h = self.rnn(x)
        out = out.squeeze(1)
        b, t, c = out.shape
        return out
        """, TOKENS, TEXT,
        (("note unpacked-sizes T=1", "b, t, c = out.shape"),), {"T": 1}),
    Case("text_shorter_than_the_kernel", """
        self.embed = nn.Embedding(50, 8)
        self.conv = nn.Conv1d(8, 8, 3)
        """, """x:
        x = self.embed(x).transpose(1, 2)
        return F.relu(self.conv(x)).max(2).values
        """, TOKENS, TEXT,
        (("note kernel-too-large T=1", "return F.relu(self.conv(x)).max(2).values"),),
        {"T": 1}),
    Case("differences_of_steps", "self.rnn = nn.GRU(6, 8, batch_first=True)", """x:
        out, h = self.rnn(x)
        steps = out[:, 1:] - out[:, :-1]
        return steps.amax(1)
        """, "torch.randn(B, T, 6)", TEXT,
        (("note shape-mismatch T=1", "return steps.amax(1)"),), {"T": 1}),
    Case("one_token_loses_its_dim", "self.rnn = nn.GRU(6, 8, batch_first=True)", """x:
        out, h = self.rnn(x)
        return out.squeeze(1)
        """, "torch.randn(B, T, 6)", TEXT,
        (("note lost-dim T=1", "return out.squeeze(1)"),), {"T": 1}, gives=(4, 8)),
]  # fmt: skip

RIGHT = [
    Case("flattened", POOLED, """x:
        return self.fc(self.pool(self.conv(x)).flatten(1))
        """, IMAGE, IMAGES),
    Case("viewed_by_its_own_batch", POOLED, """x:
        return self.fc(self.pool(self.conv(x)).view(x.size(0), -1))
        """, IMAGE, IMAGES),
    Case("squeeze_of_named_dims", "self.fc = nn.Linear(6, 1)", """x:
        return self.fc(x).squeeze(-1)
        """, "torch.randn(B, 6)", {"B": 16}),
    Case("lenet_of_fixed_size", """
        self.conv = nn.Conv2d(1, 6, 5)
        self.fc = nn.Linear(6 * 12 * 12, 10)
        """, """x:
        return self.fc(F.max_pool2d(self.conv(x), 2).flatten(1))
        """, "torch.randn(B, 1, H, W)", {"B": 4, "H": 28, "W": 28}),
    Case("patches_with_positions", """
        self.patch = nn.Conv2d(3, 8, 8, stride=8)
        self.positions = nn.Parameter(torch.zeros(1, 16, 8))
        """, """x:
        return self.patch(x).flatten(2).transpose(1, 2) + self.positions
        """, IMAGE, IMAGES),
    Case("asserts_windows", "self.conv = nn.Conv2d(3, 8, 3, padding=1)", """x:
        assert x.size(2) % 8 == 0 and x.size(3) % 8 == 0, "multiples of 8"
        x = self.conv(x)
        b, c, h, w = x.shape
        return x.view(b, c, h // 8, 8, w // 8, 8)
        """, IMAGE, IMAGES),
    Case("raises_for_an_odd_batch", "self.fc = nn.Linear(6, 8)", """x:
        if x.size(0) % 2:
            raise ValueError("pairs are wanted")
        return self.fc(x).view(2, -1, 8)
        """, "torch.randn(B, 6)", {"B": 16}),
    Case("pads_to_windows", "self.conv = nn.Conv2d(3, 8, 3, padding=1)", """x:
        b, c, h, w = x.shape
        x = F.pad(x, (0, -w % 8, 0, -h % 8))
        x = self.conv(x)
        return x.view(b, 8, x.size(2) // 8, 8, x.size(3) // 8, 8)
        """, IMAGE, IMAGES),
    Case("unet_that_resizes", UNET, """x:
        a = F.relu(self.down(x))
        b = F.interpolate(self.inner(F.max_pool2d(a, 2)), size=a.shape[2:])
        return self.up(torch.cat([a, b], dim=1))
        """, IMAGE, IMAGES),
    Case("recurrent", """
        self.embed = nn.Embedding(50, 8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.fc = nn.Linear(8, 3)
        """, """x:
        out, (h, c) = self.rnn(self.embed(x))
        return self.fc(out[:, -1])
        """, TOKENS, TEXT),
    Case("state_made_for_each_batch", "self.rnn = nn.GRU(6, 8)", """x:
        h = x.new_zeros(1, x.size(1), 8)
        return self.rnn(x, h)[0]
        """, "torch.randn(T, B, 6)", TEXT),
    Case("limit_of_positions", """
        self.embed = nn.Embedding(50, 8)
        self.positions = nn.Embedding(12, 8)
        """, """x:
        return self.embed(x) + self.positions(torch.arange(x.size(1), device=x.device))
        """, TOKENS, TEXT),
    Case("causal_attention", """
        self.embed = nn.Embedding(50, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        """, """x:
        x = self.embed(x)
        mask = x.new_ones(x.size(1), x.size(1)).triu(1).bool()
        return self.attention(x, x, x, attn_mask=mask)[0]
        """, TOKENS, TEXT),
    Case("padding_mask", """
        self.embed = nn.Embedding(50, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        """, """x, keep:
        x = self.encoder(self.embed(x), src_key_padding_mask=~keep)
        return (x * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True)
        """, TOKENS + ", torch.ones(B, T, dtype=torch.bool)", TEXT),
    Case("packed_lengths", "self.rnn = nn.GRU(6, 8, batch_first=True)", """x, lengths:
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        out, h = self.rnn(packed)
        return h[-1]
        """, "torch.randn(B, T, 6), torch.full((B,), T)", TEXT),
    Case("group_norm", """
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        """, """x:
        return self.norm(self.conv(x)).mean((2, 3))
        """, IMAGE, IMAGES),
    Case("batch_norm_of_maps", """
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)
        """, """x:
        return F.relu(self.bn(self.conv(x)))
        """, IMAGE, IMAGES),
    Case("contrastive", "self.fc = nn.Linear(6, 8)", """x, y:
        a, b = F.normalize(self.fc(x), dim=1), F.normalize(self.fc(y), dim=1)
        return F.cross_entropy(a @ b.T, torch.arange(x.size(0), device=x.device))
        """, "torch.randn(B, 6), torch.randn(B, 6)", {"B": 16}),
    Case("loss_by_labels", "self.fc = nn.Linear(6, 8)", """x, y:
        return F.cross_entropy(self.fc(x), y)
        """, "torch.randn(B, 6), torch.randint(0, 8, (B,))", {"B": 16}),
    Case("pixel_shuffle", "self.conv = nn.Conv2d(3, 12, 3, padding=1)", """x:
        return F.pixel_shuffle(self.conv(x), 2)
        """, IMAGE, IMAGES),
    Case("text_padded_for_the_kernel", """
        self.embed = nn.Embedding(50, 8)
        self.conv = nn.Conv1d(8, 8, 3, padding=1)
        """, """x:
        return self.conv(self.embed(x).transpose(1, 2)).max(2).values
        """, TOKENS, TEXT),
    Case("two_images_of_two_sizes", POOLED, """x, y:
        a = self.pool(self.conv(x)).flatten(1)
        b = self.pool(self.conv(y)).flatten(1)
        return self.fc(a - b)
        """, IMAGE + ", torch.randn(B, 3, 16, 16)", IMAGES),
    Case("loss_in_training_only", "self.fc = nn.Linear(6, 8)", """x, y=None:
        out = self.fc(x)
        if self.training:
            return F.cross_entropy(out, y)
        return out.softmax(-1)
        """, "torch.randn(B, 6), torch.randint(0, 8, (B,))", {"B": 16}),
    Case("windows_of_an_image_in_the_batch", "self.fc = nn.Linear(6, 6)", """x, mask:
        windows = mask.size(0)
        x = self.fc(x).view(x.size(0) // windows, windows, 4, 6)
        return (x + mask.unsqueeze(-1)).view(-1, 4, 6)
        """, "torch.randn(B, 4, 6), torch.zeros(4, 4)", {"B": 12}),
    Case("nodes_of_a_graph", "self.fc = nn.Linear(6, 8)", """x, adjacency:
        return adjacency @ self.fc(x)
        """, "torch.randn(N, 6), torch.rand(N, N)", {"N": 11}),
    Case("tries_and_goes_on", "self.fc = nn.Linear(6, 8)", """x:
        x = self.fc(x)
        try:
            return x.unflatten(0, (-1, 4)).mean(1)
        except RuntimeError:
            return x
        """, "torch.randn(B, 6)", {"B": 16}),
]  # fmt: skip
