import torch
import torch.nn.functional as F
from torch import Tensor, nn


def rope_table(n: int, d: int, theta: float = 10000.0) -> Tensor:
    freqs = theta ** (-torch.arange(0, d, 2) / d)
    angles = torch.outer(torch.arange(n), freqs)
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    turned = pairs * table[None, : x.size(1), None, :]
    return torch.view_as_real(turned).flatten(-2).type_as(x)


def repeat_kv(x: Tensor, n_rep: int) -> Tensor:
    b, t, kv, d = x.shape
    return x[:, :, :, None, :].expand(b, t, kv, n_rep, d).reshape(b, t, kv * n_rep, d)


class Model(nn.Module):
    def __init__(self, dim: int = 48, heads: int = 6, kv_heads: int = 2) -> None:
        super().__init__()
        self.heads, self.kv, self.d = heads, kv_heads, dim // heads
        self.wq = nn.Linear(dim, heads * self.d, bias=False)
        self.wkv = nn.Linear(dim, 2 * kv_heads * self.d, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.register_buffer("table", rope_table(64, self.d), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.heads, self.d)
        k, v = self.wkv(x).view(b, t, 2 * self.kv, self.d).chunk(2, dim=2)
        q, k = rotate(q, self.table), rotate(k, self.table)
        n_rep = self.heads // self.kv
        k, v = repeat_kv(k, n_rep), repeat_kv(v, n_rep)
        y = F.scaled_dot_product_attention(*(z.transpose(1, 2) for z in (q, k, v)), is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


def example_inputs():
    return (torch.randn(2, 10, 48),)
