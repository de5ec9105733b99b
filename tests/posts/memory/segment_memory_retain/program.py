import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB = 8192
SEGMENT = 1024
LENGTH = 16 * SEGMENT


class Books(Dataset):
    def __init__(self, n=64):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.randint(0, VOCAB, (LENGTH + 1,))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.gate = nn.Parameter(torch.zeros(heads, 1, 1))
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, memory):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        sk = F.elu(k) + 1
        update = sk.transpose(-2, -1) @ v
        if memory is not None:
            sq = F.elu(q) + 1
            past = sq @ memory / memory.shape[-1]
            gate = torch.sigmoid(self.gate)
            out = gate * past + (1 - gate) * out
            update = memory + update
        x = x + self.proj(out.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x)), update


class InfiniLM(nn.Module):
    def __init__(self, dim=768, heads=12, depth=8):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tokens, memories):
        x = self.embed(tokens)
        new = []
        for block, memory in zip(self.blocks, memories):
            x, memory = block(x, memory)
            new.append(memory)
        return self.head(x), new


device = torch.device("cuda")
loader = DataLoader(Books(), batch_size=4, shuffle=True)
model = InfiniLM().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step, tokens in enumerate(loader):
    tokens = tokens.to(device)
    memories = [None] * len(model.blocks)
    optimizer.zero_grad()
    for start in range(0, LENGTH, SEGMENT):
        part = tokens[:, start:start + SEGMENT + 1]
        logits, memories = model(part[:, :-1], memories)
        loss = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
        (loss * SEGMENT / LENGTH).backward(retain_graph=True)
    optimizer.step()
    print(step, loss.item())
