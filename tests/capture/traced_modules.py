"""Small modules for torch's tracers, and files in which a program traces one."""

from __future__ import annotations

from textwrap import dedent

MODULES = {
    "linear": ("nn.Linear(6, 4)", "2, 6"),
    "stack": ("nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))", "2, 6"),
    "convolution": ("nn.Conv2d(3, 4, 3, stride=2, padding=1)", "2, 3, 8, 8"),
    "normalised": (
        "nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), "
        "nn.AdaptiveAvgPool2d(1), nn.Flatten())",
        "2, 3, 8, 8",
    ),
    "layer norm": ("nn.Sequential(nn.LayerNorm(6), nn.GELU())", "2, 5, 6"),
    "flattened": ("Flattened()", "2, 3, 4, 4"),
    "scaled": ("Scaled()", "2, 5, 6"),
    "attention": ("Attention()", "2, 5, 8"),
    "two outputs": ("Two()", "2, 6"),
    "joined": ("Joined()", "2, 5, 6"),
    "training norm": (
        "nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)).train()",
        "2, 3, 9",
    ),
    "group norm": ("nn.Sequential(nn.GroupNorm(2, 4), nn.SiLU())", "2, 4, 5, 5"),
    "instance norm": ("nn.InstanceNorm2d(3, affine=True)", "2, 3, 5, 5"),
    "transposed": ("nn.ConvTranspose2d(3, 2, 4, stride=2, padding=1)", "2, 3, 4, 4"),
    "depthwise": (
        "nn.Sequential(nn.Conv2d(4, 4, 3, groups=4, padding='same'), "
        "nn.Conv2d(4, 2, 1))",
        "2, 4, 6, 6",
    ),
    "volume": (
        "nn.Sequential(nn.Conv3d(1, 2, 3), nn.AvgPool3d(2))",
        "2, 1, 6, 6, 6",
    ),
    "pooled": (
        "nn.Sequential(nn.MaxPool2d(2, ceil_mode=True), nn.ReflectionPad2d(1))",
        "2, 3, 7, 7",
    ),
    "upsampled": ("nn.Upsample(scale_factor=2, mode='bilinear')", "2, 3, 4, 5"),
    "shuffled": ("nn.Sequential(nn.PixelShuffle(2), nn.Dropout2d(0.3))", "2, 8, 3, 3"),
    "LSTM": ("nn.LSTM(6, 5, batch_first=True, bidirectional=True)", "2, 4, 6"),
    "GRU": ("Last()", "2, 4, 6"),
    "cell": ("Cell()", "2, 4, 6"),
    "heads": ("Heads()", "2, 5, 8"),
    "encoder": (
        "nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)",
        "2, 5, 8",
    ),
    "embedded": ("Embedded()", "2, 5, 3"),
    "bag": ("Bag()", "2, 5, 3"),
    "residual": ("Residual()", "2, 4, 6, 6"),
    "branch": ("Branch()", "2, 6"),
    "loop": ("Loop()", "2, 6"),
    "dictionary": ("Dictionary()", "2, 6"),
    "nested outputs": ("Nested()", "2, 6"),
    "in place": ("InPlace()", "2, 6"),
    "views": ("Views()", "2, 4, 6"),
    "counted": ("Counted()", "2, 6"),
    "indexed": ("Indexed()", "2, 5, 6"),
    "masked": ("Masked()", "2, 5, 6"),
    "einsum": ("Einsum()", "2, 5, 6"),
    "parametrised": (
        "torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))",
        "2, 6",
    ),
    "shared": ("Shared()", "2, 6"),
    "made inside": ("MadeInside()", "2, 5, 6"),
    "whole numbers": ("WholeNumbers()", "2, 6"),
    "parameterless": (
        "nn.Sequential(nn.Flatten(), nn.Softmax(-1), nn.Hardtanh())",
        "2, 5, 6",
    ),
    "patches": ("nn.Sequential(nn.Unfold(2, stride=2), nn.Flatten(1))", "2, 3, 4, 4"),
    "module list": ("Listed()", "2, 6"),
    "scripted inside": ("ScriptedInside()", "2, 6"),
    "function": ("function", "2, 5, 6"),
}
"""How to make each, and the shape of its example input."""

DEFINITIONS = dedent(
    """\
    import torch
    from torch import nn
    from torch.fx import symbolic_trace
    from torch.fx.experimental.proxy_tensor import make_fx


    class Flattened(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(48, 5)

        def forward(self, x):
            return self.head(x.reshape(x.size(0), -1))


    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.arange(6.0))
            self.weight = nn.Parameter(torch.randn(6))

        def forward(self, x):
            return (x * self.scale + self.weight).mean(1)


    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)


    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 2)
            self.b = nn.Linear(6, 3)

        def forward(self, x):
            return self.a(x), self.b(x).to(torch.float64)


    class Joined(nn.Module):
        def forward(self, x):
            return torch.cat([x, x.flip(-1)], dim=-1).sum(dim=1, keepdim=True)


    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(6, 5, num_layers=2, batch_first=True)

        def forward(self, x):
            output, state = self.rnn(x)
            return output[:, -1] + state[-1]


    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(6, 5)

        def forward(self, x):
            state = torch.zeros(x.size(0), 5)
            for t in range(x.size(1)):
                state = self.cell(x[:, t], state)
            return state


    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]


    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)

        def forward(self, x):
            return self.table((x.abs() * 3).clamp(max=9).long()).flatten(2)


    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.EmbeddingBag(10, 4)

        def forward(self, x):
            return self.table(x[:, :, 0].abs().clamp(max=9).long())


    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
            )

        def forward(self, x):
            return self.body(x) + x


    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.small = nn.Linear(6, 2)

        def forward(self, x):
            if x.size(1) > 4:
                return self.small(x)
            return x


    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Linear(6, 6)

        def forward(self, x):
            for _ in range(3):
                x = torch.tanh(self.step(x))
            return x


    class Dictionary(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(6, 2)

        def forward(self, x):
            return {"logits": self.head(x), "features": x.mean(dim=1)}


    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(6, 4)

        def forward(self, x):
            y = self.head(x)
            return y, (y.argmax(-1), y.sum())


    class InPlace(nn.Module):
        def forward(self, x):
            y = x.clone()
            y.add_(1).mul_(2)
            y[:, 0] = 0
            return y


    class Views(nn.Module):
        def forward(self, x):
            y = x.permute(1, 0, 2).contiguous().view(x.size(1), -1)
            return y.t().unsqueeze(0).expand(3, -1, -1)[1:].squeeze(0)


    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))
            self.head = nn.Linear(6, 2)

        def forward(self, x):
            self.seen.add_(1.0)
            return self.head(x) / self.seen


    class Indexed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("order", torch.tensor([4, 2, 0]))

        def forward(self, x):
            return x[:, self.order].gather(2, torch.zeros_like(x[:, self.order]).long())


    class Masked(nn.Module):
        def forward(self, x):
            mask = torch.ones(x.size(1), x.size(1)).tril().bool()
            scores = (x @ x.transpose(1, 2)).masked_fill(~mask, -1e4)
            return torch.where(scores > 0, scores, torch.zeros_like(scores)).softmax(-1)


    class Einsum(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(6, 2, 3))

        def forward(self, x):
            return torch.einsum("btd,dhk->bhtk", x, self.weight)


    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 6)
            self.b = self.a

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))


    class MadeInside(nn.Module):
        def forward(self, x):
            places = torch.arange(x.size(1)).unsqueeze(1) + torch.zeros(1, x.size(2))
            return x + places


    class WholeNumbers(nn.Module):
        def forward(self, x):
            return x.argsort(dim=1).to(torch.int32), (x > 0).sum(dim=1)


    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x


    @torch.jit.script
    def clipped(x: torch.Tensor, most: float) -> torch.Tensor:
        if x.dim() > 3:
            return x
        return x.clamp(-most, most)


    class ScriptedInside(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(6, 2)

        def forward(self, x):
            return clipped(self.head(x), 2.0)


    def function(x):
        return torch.stack([x, x * 2]).flatten(0, 1).amax(dim=1)


    """
)

TRACERS = {
    "jit.trace": "torch.jit.trace(model, x)",
    "jit.script": "torch.jit.script(model)",
    "symbolic_trace": "symbolic_trace(model)",
    "make_fx": "make_fx(model)(x)",
    "export": "torch.export.export(model, (x,), dynamic_shapes=dynamic).module()",
    "functionalize": "torch.func.functionalize(model)",
    "compile": 'torch.compile(model, fullgraph=True, backend="eager")',
    "frozen": "torch.jit.freeze(torch.jit.script(model.eval()))",
}
"""What a program does with a model."""

PLACES = {
    "on import": "net = {traced}\n",
    "in __init__": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = {traced}

    def forward(self, x):
        return self.inner(x)


net = Net()
""",
    "in forward": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, given):
        traced = {traced}
        return traced(given)


net = Net()
""",
}
"""Where it does that."""


REFUSED = {
    ("compile", "LSTM"): "dynamo takes no recurrent layer, which is not told",
    ("jit.script", "LSTM"): "it has no `forward`, so torch cannot call it either",
    ("frozen", "LSTM"): "it has no `forward`, so torch cannot call it either",
    ("compile", "GRU"): "dynamo takes no recurrent layer, which is not told",
}
"""What is not compared. Where torch refuses to trace, there is nothing to compare."""


def file_of(module: str, tracer: str, place: str = "on import") -> str:
    """A file whose global `net` runs what the tracer made of the module."""
    make, shape = MODULES[module]
    mode = "" if "train()" in make or make == "function" else ".eval()"
    if make == "function" and tracer == "export":
        make = "Joined()"
    return (
        f"{DEFINITIONS}model = {make}{mode}\n"
        f"x = torch.randn({shape})\n"
        'dynamic = ({0: torch.export.Dim("B")},)\n'
        + PLACES[place].format(traced=TRACERS[tracer])
    )
