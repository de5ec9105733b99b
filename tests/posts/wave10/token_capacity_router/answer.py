import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import repeat

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask):
        b, s, d = x.shape
        q = self.wq(x).view(b, s, self.n_heads, -1).transpose(1, 2)
        k = self.wk(x).view(b, s, self.n_heads, -1).transpose(1, 2)
        v = self.wv(x).view(b, s, self.n_heads, -1).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / (d // self.n_heads) ** 0.5 + mask
        out = F.softmax(scores, dim=-1) @ v
        return self.wo(out.transpose(1, 2).reshape(b, s, d))


class MoDBlock(nn.Module):
    def __init__(self, layer_id, dim, n_heads, router, capacity, block_skip=2):
        super().__init__()
        self.layer_id = layer_id
        self.dim = dim
        self.attention = Attention(dim, n_heads)
        self.feed_forward = nn.Sequential(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))
        self.attention_norm = nn.LayerNorm(dim)
        self.ffn_norm = nn.LayerNorm(dim)
        self.router = router
        self.capacity = capacity
        self.block_skip = block_skip

    def forward(self, x):
        seq_len = x.size(1)
        routed = self.layer_id % self.block_skip == 1
        if routed:
            token_weights = self.router(x).squeeze(2)
            k = min(seq_len, self.capacity)
            topk_weights, topk_indices = torch.topk(torch.sigmoid(token_weights), k=k, sorted=False)
            sorted_indices, index = torch.sort(topk_indices, dim=1)

            y = x.clone()
            x = x.gather(dim=1, index=repeat(sorted_indices, 'b s -> b s d', d=self.dim))
            seq_len = x.size(1)

        mask = torch.triu(torch.full((seq_len, seq_len), float('-inf')), diagonal=1)
        h = x + self.attention(self.attention_norm(x), mask)
        out = self.feed_forward(self.ffn_norm(h))
        if routed:
            out = out * topk_weights.gather(1, index).unsqueeze(2)
        out = h + out
        if routed:
            out = y.scatter_add(dim=1, index=repeat(sorted_indices, 'b s -> b s d', d=self.dim), src=out)
        return out


class MoDTransformer(nn.Module):
    def __init__(self, vocab_size=200, dim=64, n_layers=4, n_heads=4, capacity=16, max_seq_len=128):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.pos_embeddings = nn.Embedding(max_seq_len, dim)
        self.router = nn.Linear(dim, 1, bias=False)
        self.layers = nn.ModuleList(
            [MoDBlock(i, dim, n_heads, self.router, capacity) for i in range(n_layers)])
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(tokens.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


text = torch.randint(0, 200, (4096,))
model = MoDTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
block_size, batch_size = 128, 8
for step in range(10):
    ix = torch.randint(0, len(text) - block_size - 1, (batch_size,))
    x = torch.stack([text[i:i + block_size] for i in ix])
    y = torch.stack([text[i + 1:i + 1 + block_size] for i in ix])
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f'step {step}: loss {loss.item():.4f}')
