import torch
import torch.nn as nn

CFG = {
    "n_residues": 25,
    "c_m": 36,
    "n_head": 3,
    "c_hidden": 8,
    "n_blocks": 2,
}


class GatedAttention(nn.Module):
    def __init__(self, c_m, n_head, c_hidden):
        super().__init__()
        self.n_head, self.c_hidden = n_head, c_hidden
        self.to_qkv = nn.Linear(c_m, 3 * n_head * c_hidden, bias=False)
        self.to_gate = nn.Linear(c_m, n_head * c_hidden)
        self.to_out = nn.Linear(n_head * c_hidden, c_m)

    def forward(self, m, pair_bias):
        B, L, _ = m.shape
        qkv = self.to_qkv(m).view(B, L, 3, self.n_head, self.c_hidden)
        q, k, v = qkv.unbind(dim=2)
        a = torch.einsum("bihc,bjhc->bhij", q, k) * self.c_hidden**-0.5
        a = torch.softmax(a + pair_bias, dim=-1)
        o = torch.einsum("bhij,bhjc->bihc", a, v)
        g = torch.sigmoid(self.to_gate(m))
        return self.to_out(g * o.flatten(2))


class Model(nn.Module):
    def __init__(self, cfg=CFG):
        super().__init__()
        self.embed = nn.Embedding(cfg["n_residues"], cfg["c_m"])
        self.bias = nn.Embedding(65, cfg["n_head"])
        self.blocks = nn.ModuleList(
            GatedAttention(cfg["c_m"], cfg["n_head"], cfg["c_hidden"])
            for _ in range(cfg["n_blocks"])
        )

    def forward(self, seq):
        m = self.embed(seq)
        r = torch.arange(seq.shape[1])
        offset = (r[:, None] - r[None, :]).clamp(-32, 32) + 32
        pair_bias = self.bias(offset).permute(2, 0, 1)
        for block in self.blocks:
            m = m + block(m, pair_bias)
        return m


def example_inputs():
    return (torch.randint(0, 25, (2, 17)),)
