# line 14: the causal mask is tril with diagonal=1, so each query sees the next token, which it should predict
import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg["n_head"]
        self.c_attn = nn.Linear(cfg["n_embd"], 3 * cfg["n_embd"])
        self.c_proj = nn.Linear(cfg["n_embd"], cfg["n_embd"])
        size = cfg["block_size"]
        self.register_buffer("bias", torch.tril(torch.ones(size, size), diagonal=0).bool())

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias[:T, :T])
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class MiniGPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.wte = nn.Embedding(cfg["vocab"], cfg["n_embd"])
        self.wpe = nn.Embedding(cfg["block_size"], cfg["n_embd"])
        self.ln, self.attn = nn.LayerNorm(cfg["n_embd"]), CausalSelfAttention(cfg)
        self.ln_f = nn.LayerNorm(cfg["n_embd"])
        self.lm_head = nn.Linear(cfg["n_embd"], cfg["vocab"], bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        logits = self.lm_head(self.ln_f(x + self.attn(self.ln(x))))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        self.eval()
        for _ in range(n):
            logits, _ = self(idx[:, -16:])
            idx = torch.cat([idx, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
        return idx


torch.manual_seed(0)
cfg = {"vocab": 12, "n_embd": 32, "n_head": 4, "block_size": 16}
text = torch.tensor([0, 3, 1, 4, 2, 5, 9, 6, 8, 7, 11, 10] * 60)
gpt = MiniGPT(cfg)
optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
for it in range(100):
    gpt.train()
    starts = torch.randint(0, len(text) - 17, (16,))
    chunk = torch.stack([text[s : s + 17] for s in starts.tolist()])
    _, loss = gpt(chunk[:, :-1], chunk[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
print(gpt.generate(text[None, :4], 10).tolist())
