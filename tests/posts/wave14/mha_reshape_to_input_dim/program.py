import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product(q, k, v, mask=None):
    logits = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -9e15)
    attention = F.softmax(logits, dim=-1)
    return attention @ v, attention


class MultiheadAttention(nn.Module):
    def __init__(self, input_dim, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.qkv_proj = nn.Linear(input_dim, 3 * embed_dim)
        self.o_proj = nn.Linear(embed_dim, embed_dim)
        nn.init.xavier_uniform_(self.qkv_proj.weight)
        nn.init.xavier_uniform_(self.o_proj.weight)

    def forward(self, x, mask=None):
        batch_size, seq_length, embed_dim = x.size()
        qkv = self.qkv_proj(x)
        qkv = qkv.reshape(batch_size, seq_length, self.num_heads, 3 * self.head_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        values, attention = scaled_dot_product(q, k, v, mask=mask)
        values = values.permute(0, 2, 1, 3)
        values = values.reshape(batch_size, seq_length, embed_dim)
        return self.o_proj(values), attention


class EventTagger(nn.Module):
    """tags every reading of a multi sensor recording"""

    def __init__(self, n_sensors, embed_dim, num_heads, n_tags):
        super().__init__()
        self.attn = MultiheadAttention(n_sensors, embed_dim, num_heads)
        self.norm = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(nn.Linear(embed_dim, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, n_tags))

    def forward(self, x, mask=None):
        h, weights = self.attn(x, mask)
        return self.mlp(self.norm(h)), weights


def recordings(n, length=24, n_sensors=13):
    x = torch.randn(n, length, n_sensors) * 0.5
    tags = torch.zeros(n, length, dtype=torch.long)
    for i in range(n):
        kind = int(torch.randint(1, 4, (1,)))
        start = int(torch.randint(0, length - 6, (1,)))
        x[i, start:start + 6, kind * 3:kind * 3 + 3] += 2.0
        tags[i, start:start + 6] = kind
    return x, tags


def main():
    torch.manual_seed(42)
    model = EventTagger(n_sensors=13, embed_dim=48, num_heads=4, n_tags=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 20))
    weight = torch.tensor([0.3, 1.0, 1.0, 1.0])
    for step in range(120):
        x, tags = recordings(32)
        logits, _ = model(x)
        loss = F.cross_entropy(logits.reshape(-1, 4), tags.reshape(-1), weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 40 == 39:
            acc = (logits.argmax(-1) == tags).float().mean().item()
            print(f'step {step + 1}: loss {loss.item():.4f}, accuracy {acc:.3f}')


if __name__ == '__main__':
    main()
