import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class RelativeScaledDotAttention(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.scale = math.sqrt(head_dim)

    def forward(self, query, key, value, bias):
        score = torch.bmm(query, key.transpose(1, 2)) / self.scale + bias
        weight = F.softmax(score, dim=-1)
        return torch.bmm(weight, value), weight


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, num_heads, max_len):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.out_proj = nn.Linear(dim, dim)
        self.rel_bias = nn.Parameter(torch.zeros(2 * max_len - 1))
        self.attn = RelativeScaledDotAttention(self.head_dim)

    def reshape_from_feed(self, batch_size, x):
        x = x.view(batch_size, -1, self.num_heads, self.head_dim)
        x = x.permute(0, 2, 1, 3).contiguous()
        return x.view(batch_size * self.num_heads, -1, self.head_dim)

    def reshape_to_concat(self, batch_size, x):
        x = x.permute(0, 2, 1, 3)
        return x.contiguous().view(batch_size, -1, self.num_heads * self.head_dim)

    def relative_bias(self, length):
        pos = torch.arange(length)
        offset = pos[None, :] - pos[:, None] + (self.rel_bias.numel() + 1) // 2 - 1
        return self.rel_bias[offset]

    def forward(self, x):
        batch_size, length, _ = x.shape
        query = self.reshape_from_feed(batch_size, self.q_proj(x))
        key = self.reshape_from_feed(batch_size, self.k_proj(x))
        value = self.reshape_from_feed(batch_size, self.v_proj(x))
        output, _ = self.attn(query, key, value, self.relative_bias(length))
        output = output.view(self.num_heads, batch_size, -1, self.head_dim)
        output = self.reshape_to_concat(batch_size, output)
        return self.out_proj(output)


class Encoder(nn.Module):
    def __init__(self, vocab, dim, num_heads, num_tags, max_len=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mha = MultiHeadAttention(dim, num_heads, max_len)
        self.norm1 = nn.LayerNorm(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm2 = nn.LayerNorm(dim)
        self.tagger = nn.Linear(dim, num_tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.norm1(x + self.mha(x))
        x = self.norm2(x + self.ffn(x))
        return self.tagger(x)


def main():
    torch.manual_seed(0)
    vocab, tags, length, batch = 20, 5, 12, 6
    model = Encoder(vocab, dim=32, num_heads=4, num_tags=tags)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(150):
        tokens = torch.randint(0, vocab, (batch, length))
        target = tokens.roll(1, dims=1) % tags
        logits = model(tokens)
        loss = F.cross_entropy(logits.reshape(-1, tags), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
