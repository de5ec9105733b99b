"""Small modules for torch's tracers, and a file that traces one of them on import."""

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


    """
)

TRACERS = {
    "jit.trace": "torch.jit.trace(model, x)",
    "jit.script": "torch.jit.script(model)",
    "symbolic_trace": "symbolic_trace(model)",
    "make_fx": "make_fx(model)(x)",
    "export": "torch.export.export(model, (x,), dynamic_shapes=dynamic).module()",
}
"""Five ways."""


def file_of(module: str, tracer: str) -> str:
    """A file whose global `net` is what the tracer made of the module."""
    make, shape = MODULES[module]
    return (
        f"{DEFINITIONS}model = {make}.eval()\n"
        f"x = torch.randn({shape})\n"
        'dynamic = ({0: torch.export.Dim("B")},)\n'
        f"net = {TRACERS[tracer]}\n"
    )
