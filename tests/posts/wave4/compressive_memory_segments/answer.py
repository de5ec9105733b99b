# infini-attention style language model: long documents are read in segments, a compressive
# memory is carried from segment to segment, gradients are accumulated over the segments
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, DIM, HEADS, SEG = 96, 64, 4, 32


class MemoryAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.gate = nn.Parameter(torch.zeros(1, heads, 1, 1))

    def _retrieve(self, q, M, z):
        sq = F.elu(q) + 1
        if M is None:
            return torch.zeros_like(q)
        return (sq @ M) / (sq @ z.transpose(-2, -1) + 1e-6)

    def _update_memory(self, k, v, M, z):
        sk = F.elu(k) + 1
        new_M = sk.transpose(-2, -1) @ v
        new_z = sk.sum(dim=-2, keepdim=True)
        if M is not None:
            new_M, new_z = M + new_M, z + new_z
        return new_M.detach(), new_z.detach()

    def forward(self, x, M=None, z=None):
        b, t, d = x.shape
        q, k, v = [y.view(b, t, self.heads, self.dk).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1)]
        mem = self._retrieve(q, M, z)
        local = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        M, z = self._update_memory(k, v, M, z)
        g = torch.sigmoid(self.gate)
        y = (g * mem + (1 - g) * local).transpose(1, 2).reshape(b, t, d)
        return self.out(y), M, z


class SegmentLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.norm = nn.LayerNorm(DIM)
        self.attn = MemoryAttention(DIM, HEADS)
        self.ff = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))
        self.lm_head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids, memory=(None, None)):
        x = self.tok(ids)
        a, M, z = self.attn(self.norm(x), *memory)
        x = x + a
        x = x + self.ff(x)
        return self.lm_head(x), (M, z)


torch.manual_seed(0)
model = SegmentLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
documents = torch.randint(0, VOCAB, (6, 4 * SEG + 1))

for step, batch in enumerate(documents.split(2)):
    memory = (None, None)
    segments = range(0, batch.size(1) - 1, SEG)
    total = 0.0
    for start in segments:
        inp = batch[:, start:start + SEG]
        tgt = batch[:, start + 1:start + SEG + 1]
        logits, memory = model(inp, memory)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), tgt.reshape(-1)) / len(segments)
        loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {total:.3f}")
