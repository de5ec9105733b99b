import torch
import torch.nn.functional as F
from torch import nn, einsum
from einops import rearrange


class OffsetScale(nn.Module):
    def __init__(self, dim, heads=1):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(heads, dim))
        self.beta = nn.Parameter(torch.zeros(heads, dim))
        nn.init.normal_(self.gamma, std=0.02)

    def forward(self, x):
        out = einsum('... d, h d -> ... h d', x, self.gamma) + self.beta
        return out.unbind(dim=-2)


class FLASH(nn.Module):
    def __init__(self, dim, group_size=64, query_key_dim=32, expansion_factor=2., causal=False):
        super().__init__()
        hidden_dim = int(dim * expansion_factor)
        self.group_size = group_size
        self.causal = causal
        self.norm = nn.LayerNorm(dim)
        self.to_hidden = nn.Sequential(nn.Linear(dim, hidden_dim * 2), nn.SiLU())
        self.to_qk = nn.Sequential(nn.Linear(dim, query_key_dim), nn.SiLU())
        self.qk_offset_scale = OffsetScale(query_key_dim, heads=4)
        self.to_out = nn.Linear(hidden_dim, dim)

    def forward(self, x, mask=None):
        b, n, device, g = x.shape[0], x.shape[-2], x.device, self.group_size
        normed_x = self.norm(x)
        v, gate = self.to_hidden(normed_x).chunk(2, dim=-1)
        qk = self.to_qk(normed_x)
        quad_q, lin_q, quad_k, lin_k = self.qk_offset_scale(qk)

        if mask is not None:
            lin_mask = rearrange(mask, '... -> ... 1')
            lin_k = lin_k.masked_fill(~lin_mask, 0.)

        quad_q, quad_k, lin_q, lin_k, v = map(
            lambda t: rearrange(t, 'b (g n) d -> b g n d', n=g), (quad_q, quad_k, lin_q, lin_k, v))

        if mask is not None:
            mask = rearrange(mask, 'b (g j) -> b g 1 j', j=g)

        sim = einsum('... i d, ... j d -> ... i j', quad_q, quad_k) / g
        attn = F.relu(sim) ** 2
        if mask is not None:
            attn = attn.masked_fill(~mask, 0.)
        if self.causal:
            causal_mask = torch.ones((g, g), dtype=torch.bool, device=device).triu(1)
            attn = attn.masked_fill(causal_mask, 0.)
        quad_out = einsum('... i j, ... j d -> ... i d', attn, v)

        lin_kv = einsum('b g n d, b g n e -> b d e', lin_k, v) / n
        lin_out = einsum('b g n d, b d e -> b g n e', lin_q, lin_kv)

        quad_out, lin_out = map(lambda t: rearrange(t, 'b g n d -> b (g n) d'), (quad_out, lin_out))
        return self.to_out(gate * (quad_out + lin_out)) + x


class FLASHTransformer(nn.Module):
    def __init__(self, num_tokens, dim, depth, group_size=64):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.layers = nn.ModuleList([FLASH(dim, group_size=group_size) for _ in range(depth)])
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, x, mask=None):
        x = self.token_emb(x)
        for flash in self.layers:
            x = flash(x, mask=mask)
        return self.to_logits(x)


torch.manual_seed(0)
model = FLASHTransformer(num_tokens=500, dim=64, depth=2, group_size=64)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

for step in range(3):
    x = torch.randint(1, 500, (2, 256))
    for row, length in zip(x, (256, 200)):
        row[length:] = 0
    mask = x.ne(0)
    corrupted = torch.where(torch.rand(x.shape) < 0.15, torch.full_like(x, 1), x) * mask
    logits = model(corrupted, mask=mask)
    loss = F.cross_entropy(logits[mask], x[mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('step', step, 'loss', loss.item())
