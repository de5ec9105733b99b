import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange, repeat


def rotate_half(x):
    x = rearrange(x, '... (d r) -> ... d r', r=2)
    x1, x2 = x.unbind(dim=-1)
    return rearrange(torch.stack((-x2, x1), dim=-1), '... d r -> ... (d r)')


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, theta=10000, learned_freq=False, freqs_for='lang', max_freq=10):
        super().__init__()
        if freqs_for == 'lang':
            freqs = 1. / (theta ** (torch.arange(0, dim, 2)[:(dim // 2)].float() / dim))
        elif freqs_for == 'pixel':
            freqs = torch.linspace(1., max_freq / 2, dim // 2) * torch.pi
        self.freqs_for = freqs_for
        self.learned_freq = learned_freq
        self.freqs = nn.Parameter(freqs)
        self.register_buffer('cached_freqs', None, persistent=False)

    def rotate_queries_or_keys(self, t):
        seq_len = t.shape[-2]
        freqs = self.forward(torch.arange(seq_len, device=t.device), seq_len)
        return t * freqs.cos() + rotate_half(t) * freqs.sin()

    def forward(self, t, seq_len=None, offset=0):
        freqs = torch.einsum('..., f -> ... f', t.type(self.freqs.dtype), self.freqs)
        freqs = repeat(freqs, '... n -> ... (n r)', r=2)
        return freqs


class Attention(nn.Module):
    def __init__(self, dim, heads, rotary_emb):
        super().__init__()
        self.heads = heads
        self.rotary_emb = rotary_emb
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        q, k, v = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (rearrange(t, 'b n (h d) -> b h n d', h=self.heads) for t in (q, k, v))
        q = self.rotary_emb.rotate_queries_or_keys(q)
        k = self.rotary_emb.rotate_queries_or_keys(k)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.to_out(rearrange(out, 'b h n d -> b n (h d)'))


class Transformer(nn.Module):
    def __init__(self, num_tokens, dim=64, depth=2, heads=4):
        super().__init__()
        self.token_emb = nn.Embedding(num_tokens, dim)
        rotary_emb = RotaryEmbedding(dim // heads)
        self.layers = nn.ModuleList([
            nn.ModuleList([Attention(dim, heads, rotary_emb),
                           nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 4), nn.GELU(), nn.Linear(dim * 4, dim))])
            for _ in range(depth)])
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, x):
        x = self.token_emb(x)
        for attn, ff in self.layers:
            x = x + attn(x)
            x = x + ff(x)
        return self.to_logits(x)


torch.manual_seed(0)
device = 'cuda' if torch.cuda.is_available() else 'cpu'
data = torch.randint(0, 64, (512, 33))
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
model = Transformer(num_tokens=64).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

model.train()
for step, batch in enumerate(loader):
    batch = batch.to(device)
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(rearrange(logits, 'b n c -> b c n'), batch[:, 1:])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if step % 8 == 0:
        print(f'step {step}: training loss {loss.item():.4f}')
