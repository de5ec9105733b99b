import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

VOCAB = 24
LENGTH = 10


def scaled_dot_product(q, k, v, mask=None):
    scaled = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
    if mask is not None:
        scaled = scaled + mask
    attention = F.softmax(scaled, dim=-1)
    return torch.matmul(attention, v), attention


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_sequence_length):
        super().__init__()
        position = torch.arange(max_sequence_length).unsqueeze(1)
        denominator = torch.pow(10000.0, torch.arange(0, d_model, 2) / d_model)
        pe = torch.zeros(max_sequence_length, d_model)
        pe[:, 0::2] = torch.sin(position / denominator)
        pe[:, 1::2] = torch.cos(position / denominator)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_layer = nn.Linear(d_model, 3 * d_model)
        self.linear_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        batch_size, sequence_length, _ = x.size()
        qkv = self.qkv_layer(x)
        qkv = qkv.reshape(batch_size, sequence_length, self.num_heads, 3 * self.head_dim)
        qkv = qkv.permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        values, attention = scaled_dot_product(q, k, v, mask)
        values = values.reshape(batch_size, sequence_length, self.num_heads * self.head_dim)
        return self.linear_layer(values)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, ffn_hidden):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(
            nn.Linear(d_model, ffn_hidden), nn.ReLU(), nn.Linear(ffn_hidden, d_model)
        )

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.ffn(x))


class LanguageModel(nn.Module):
    def __init__(self, d_model=64, num_heads=4, num_layers=2):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, d_model)
        self.position = PositionalEncoding(d_model, 2 * LENGTH)
        self.layers = nn.ModuleList([DecoderLayer(d_model, num_heads, 128) for _ in range(num_layers)])
        self.linear = nn.Linear(d_model, VOCAB)

    def forward(self, tokens):
        n = tokens.size(1)
        mask = torch.full((n, n), float("-inf"), device=tokens.device).triu(diagonal=1)
        x = self.position(self.embedding(tokens))
        for layer in self.layers:
            x = layer(x, mask)
        return self.linear(x)


def make_pairs(n, seed):
    g = torch.Generator().manual_seed(seed)
    source = torch.randint(1, VOCAB, (n, LENGTH), generator=g)
    target = torch.cat([torch.zeros(n, 1, dtype=torch.long), source[:, :-1]], dim=1)
    return source, (target + source) % VOCAB


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(*make_pairs(1024, 0)), batch_size=64, shuffle=True)
    model = LanguageModel().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        total = 0.0
        for source, target in loader:
            source, target = source.to(device), target.to(device)
            loss = F.cross_entropy(model(source).flatten(0, 1), target.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d loss %.4f" % (epoch + 1, total / len(loader)))
    source, target = (t.to(device) for t in make_pairs(256, 1))
    with torch.no_grad():
        accuracy = (model(source).argmax(dim=-1) == target).float().mean().item()
    print("test accuracy %.3f" % accuracy)


if __name__ == "__main__":
    main()
