import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import einsum, rearrange
from torch.utils.data import DataLoader, Dataset


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.weight_query = nn.Parameter(torch.empty(num_heads, d_model, self.d_head))
        self.weight_key = nn.Parameter(torch.empty(num_heads, d_model, self.d_head))
        self.weight_value = nn.Parameter(torch.empty(num_heads, d_model, self.d_head))
        self.weight_out = nn.Parameter(torch.empty(d_model, d_model))
        for weight in self.parameters():
            nn.init.normal_(weight, std=1 / math.sqrt(d_model))

    def forward(self, x):
        pattern = "batch pos d_model, head d_model d_head -> batch head pos d_head"
        query = einsum(x, self.weight_query, pattern)
        key = einsum(x, self.weight_key, pattern)
        value = einsum(x, self.weight_value, pattern)

        scores = einsum(query, key, "batch head q d_head, batch head k d_head -> batch head q k")
        scores = scores / math.sqrt(self.d_head)
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        pattern_softmax = scores.masked_fill(future, float("-inf")).softmax(dim=-1)

        attended = einsum(pattern_softmax, value, "batch head q k, batch head k d_head -> batch head q d_head")
        concat = rearrange(attended, "batch head pos d_head -> batch pos (head d_head)")
        return einsum(concat, self.weight_out, "batch pos d_model, d_model d_model -> batch pos d_model")


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.ln2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    def __init__(self, d_vocab, d_model=64, num_heads=4, n_layers=2, max_pos=64):
        super().__init__()
        self.embed = nn.Embedding(d_vocab, d_model)
        self.pos = nn.Embedding(max_pos, d_model)
        self.layers = nn.Sequential(*[DecoderLayer(d_model, num_heads) for _ in range(n_layers)])
        self.unembed = nn.Linear(d_model, d_vocab)

    def forward(self, tokens):
        positions = torch.arange(tokens.size(1), device=tokens.device)
        return self.unembed(self.layers(self.embed(tokens) + self.pos(positions)))


class RepeatTask(Dataset):
    """A random string followed by the same string again."""

    def __init__(self, n, half=12, d_vocab=30):
        gen = torch.Generator().manual_seed(0)
        first = torch.randint(0, d_vocab, (n, half), generator=gen)
        self.tokens = torch.cat([first, first], dim=1)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i, :-1], self.tokens[i, 1:]


def main():
    torch.manual_seed(0)
    half, d_vocab = 12, 30
    loader = DataLoader(RepeatTask(1024, half, d_vocab), batch_size=64, shuffle=True)
    model = Decoder(d_vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(8):
        hits = count = 0
        for inputs, targets in loader:
            logits = model(inputs)
            loss = F.cross_entropy(rearrange(logits, "b p v -> (b p) v"), rearrange(targets, "b p -> (b p)"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            copied = logits.argmax(-1)[:, half:] == targets[:, half:]
            hits += copied.sum().item()
            count += copied.numel()
        print(f"epoch {epoch}: loss {loss.item():.3f} copied {hits / count:.3f}")


if __name__ == "__main__":
    main()
