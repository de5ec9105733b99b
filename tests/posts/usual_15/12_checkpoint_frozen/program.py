"""Adapter tuning with activation checkpointing to save memory on long documents."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, LENGTH, DIM, CLASSES = 200, 64, 48, 4


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck=12):
        super().__init__()
        self.down = nn.Linear(dim, bottleneck)
        self.up = nn.Linear(bottleneck, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adapter = Adapter(dim)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.mlp(self.norm2(x))
        return self.adapter(x)


class DocEncoder(nn.Module):
    def __init__(self, depth=3, use_checkpoint=False):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(0.02 * torch.randn(1, LENGTH, DIM))
        self.blocks = nn.ModuleList(Block(DIM) for _ in range(depth))
        self.head = nn.Linear(DIM, CLASSES)
        self.use_checkpoint = use_checkpoint

    def forward(self, ids):
        x = self.embed(ids) + self.pos
        for block in self.blocks:
            if self.use_checkpoint and self.training:
                x = checkpoint(block, x, use_reentrant=True)
            else:
                x = block(x)
        return self.head(x.mean(1))


def documents(n):
    y = torch.randint(0, CLASSES, (n,))
    common = torch.randint(0, VOCAB, (n, LENGTH))
    topical = y[:, None] * 20 + torch.randint(0, 20, (n, LENGTH))
    return torch.where(torch.rand(n, LENGTH) < 0.3, topical, common), y


def only_adapters(model):
    for name, p in model.named_parameters():
        p.requires_grad = "adapter" in name
    trainable = [p for p in model.parameters() if p.requires_grad]
    share = sum(p.numel() for p in trainable) / sum(p.numel() for p in model.parameters())
    print(f"tuning {100 * share:.1f}% of the parameters")
    return trainable


def main():
    model = DocEncoder(use_checkpoint=True)
    # here the weights of the pretrained encoder and head are loaded in the real job
    optimizer = torch.optim.AdamW(only_adapters(model), lr=1e-2)
    loader = DataLoader(TensorDataset(*documents(320)), batch_size=32, shuffle=True)
    for epoch in range(3):
        model.train()
        for ids, y in loader:
            loss = F.cross_entropy(model(ids), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        model.eval()
        ids, y = documents(128)
        with torch.no_grad():
            acc = (model(ids).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
