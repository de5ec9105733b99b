import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "dim": 20,
    "ffn_mult": 3,
    "moe": {"n_experts": 2, "top_k": 4},
    "n_layers": 2,
}


class Expert(nn.Module):
    def __init__(self, dim, mult):
        super().__init__()
        self.w_in = nn.Linear(dim, mult * dim, bias=False)
        self.w_gate = nn.Linear(dim, mult * dim, bias=False)
        self.w_out = nn.Linear(mult * dim, dim, bias=False)

    def forward(self, x):
        return self.w_out(F.silu(self.w_gate(x)) * self.w_in(x))


class MoE(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.top_k = cfg["moe"]["top_k"]
        n = cfg["moe"]["n_experts"]
        self.gate = nn.Linear(cfg["dim"], n, bias=False)
        self.experts = nn.ModuleList(
            Expert(cfg["dim"], cfg["ffn_mult"]) for _ in range(n)
        )

    def forward(self, x):
        probs = self.gate(x).softmax(dim=-1)
        weight, chosen = probs.topk(self.top_k, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = (weight * (chosen == i)).sum(-1, keepdim=True)
            out = out + share * expert(x)
        return out


class Model(nn.Module):
    def __init__(self, cfg=CONFIG):
        super().__init__()
        self.layers = nn.ModuleList(MoE(cfg) for _ in range(cfg["n_layers"]))
        self.norms = nn.ModuleList(nn.LayerNorm(cfg["dim"]) for _ in self.layers)

    def forward(self, x):
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return x


def example_inputs():
    return (torch.randn(2, 9, 20),)
