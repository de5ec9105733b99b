import torch
import torch.nn as nn
import torch.nn.functional as F


class MambaBlock(nn.Module):
    def __init__(self, d_model, d_state=8, d_conv=4, expand=2):
        super().__init__()
        d_inner = expand * d_model
        dt_rank = max(d_model // 16, 1)
        self.sizes = [dt_rank, d_state, d_state]
        self.in_proj = nn.Linear(d_model, d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(
            d_inner, d_inner, d_conv, groups=d_inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(d_inner, dt_rank + d_state, bias=False)
        self.dt_proj = nn.Linear(dt_rank, d_model)
        A = torch.arange(1, d_state + 1).float().repeat(d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.D = nn.Parameter(torch.ones(d_inner))
        self.out_proj = nn.Linear(d_inner, d_model, bias=False)

    def ssm(self, x):
        A = -torch.exp(self.A_log)
        delta, B, C = self.x_proj(x).split(self.sizes, dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        dA = torch.exp(delta.unsqueeze(-1) * A)
        dBx = (delta * x).unsqueeze(-1) * B.unsqueeze(2)
        h = x.new_zeros(x.size(0), *A.shape)
        ys = []
        for i in range(x.size(1)):
            h = dA[:, i] * h + dBx[:, i]
            ys.append(torch.einsum("bdn,bn->bd", h, C[:, i]))
        return torch.stack(ys, dim=1) + x * self.D

    def forward(self, x):
        length = x.shape[1]
        x, z = self.in_proj(x).chunk(2, dim=-1)
        x = self.conv1d(x.transpose(1, 2))[..., :length].transpose(1, 2)
        return self.out_proj(self.ssm(F.silu(x)) * F.silu(z))


class Model(nn.Module):
    def __init__(self, vocab=50, d_model=16, n_layer=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList(MambaBlock(d_model) for _ in range(n_layer))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(n_layer))

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return x @ self.embedding.weight.T


def example_inputs():
    return (torch.randint(0, 50, (2, 13)),)
