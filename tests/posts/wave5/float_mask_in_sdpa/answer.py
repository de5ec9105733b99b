import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalCellAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, attn_mask=None):
        B, S, E = x.shape
        q, k, v = self.qkv(x).view(B, S, 3, self.n_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        mask = torch.ones(S, S, dtype=torch.bool, device=x.device).tril()
        if attn_mask is not None:
            mask = mask & attn_mask
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(out.transpose(1, 2).reshape(B, S, E))


class StateModel(nn.Module):
    def __init__(self, n_genes=24, dim=32, n_heads=4, depth=2):
        super().__init__()
        self.inp = nn.Linear(n_genes, dim)
        self.blocks = nn.ModuleList([CausalCellAttention(dim, n_heads) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, n_genes)

    def forward(self, cells, valid):
        B, S, _ = cells.shape
        attn_mask = torch.zeros(B, self.blocks[0].n_heads, S, S, dtype=torch.bool)
        for b in range(B):
            n = int(valid[b])
            attn_mask[b, :, :, :n] = True
        x = self.inp(cells)
        for norm, block in zip(self.norms, self.blocks):
            x = x + block(norm(x), attn_mask)
        return self.out(x)


torch.manual_seed(0)
cells = torch.randn(40, 12, 24)
valid = torch.randint(6, 13, (40,))
target = torch.roll(cells, -1, dims=1)

model = StateModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    perm = torch.randperm(len(cells))
    for i in range(0, len(cells), 8):
        idx = perm[i:i + 8]
        pred = model(cells[idx], valid[idx])
        loss = F.mse_loss(pred, target[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
