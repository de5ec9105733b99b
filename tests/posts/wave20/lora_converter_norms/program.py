import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        for p in self.base.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_a), self.lora_b)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.attn_norm = nn.RMSNorm(dim)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.ffn_norm = nn.RMSNorm(dim)
        self.w1 = nn.Linear(dim, 4 * dim, bias=False)
        self.w2 = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        h = self.attn_norm(x)
        q, k, v = (w(h).view(b, t, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(a.transpose(1, 2).reshape(b, t, d))
        return x + self.w2(F.silu(self.w1(self.ffn_norm(x))))


class TinyLlama(nn.Module):
    def __init__(self, vocab=96, dim=64, depth=2, heads=4):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.RMSNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


class Converter:
    """Swaps the target projections for adapted ones."""

    def __init__(self, rank=4, alpha=8.0, targets=("wq", "wv")):
        self.rank, self.alpha, self.targets = rank, alpha, targets

    def convert(self, model):
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, nn.Linear):
                    if name in self.targets:
                        setattr(module, name, LoRALinear(child, self.rank, self.alpha))
                    else:
                        child.weight.requires_grad_(False)
        return model


class Sequences(Dataset):
    def __init__(self, n, step, vocab=96, length=24):
        start = torch.randint(0, vocab, (n, 1))
        self.data = (start + step * torch.arange(length + 1)) % vocab

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i, :-1], self.data[i, 1:]


def fit(model, loader, lr, epochs, tag):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.1)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{tag} epoch {epoch} loss {loss.item():.3f}")


def adapter_state(model):
    return {k: v for k, v in model.state_dict().items() if "lora_" in k}


if __name__ == "__main__":
    model = TinyLlama()
    fit(model, DataLoader(Sequences(256, step=1), batch_size=32, shuffle=True), 3e-3, 4, "pretrain")

    model = Converter(rank=4).convert(model)
    fit(model, DataLoader(Sequences(256, step=3), batch_size=32, shuffle=True), 1e-2, 4, "adapt")
    torch.save(adapter_state(model), "/tmp/adapter.pt")
    print("saved", len(adapter_state(model)), "adapter tensors")
