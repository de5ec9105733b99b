# line 48: the samples hold baskets of different lengths, which default_collate cannot stack; mended by: a collate function that pads the baskets
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

N_ARTICLES = 50


class Baskets(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.samples = []
        for _ in range(n):
            taste = rng.integers(0, 5)
            size = rng.integers(2, 9)
            items = 1 + taste * 10 + rng.integers(0, 10, size=size + 1)
            self.samples.append({"basket": items[:-1], "next": int(items[-1])})

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        s = self.samples[i]
        return {"basket": torch.from_numpy(s["basket"]), "next": s["next"]}


def pad_baskets(samples):
    basket = pad_sequence([s["basket"] for s in samples], batch_first=True)
    return {"basket": basket, "next": torch.tensor([s["next"] for s in samples])}


class BasketModel(nn.Module):
    def __init__(self, n, dim=16):
        super().__init__()
        self.items = nn.Embedding(n + 1, dim, padding_idx=0)
        self.mix = nn.Linear(dim, dim)

    def forward(self, basket):
        present = (basket > 0).unsqueeze(-1).float()
        e = (self.items(basket) * present).sum(1) / present.sum(1).clamp(min=1)
        return torch.tanh(self.mix(e)) @ self.items.weight.t()


def loaders(bs=25):
    train = DataLoader(Baskets(250, 0), batch_size=bs, shuffle=True, collate_fn=pad_baskets)
    valid = DataLoader(Baskets(50, 1), batch_size=bs, collate_fn=pad_baskets)
    return train, valid


torch.manual_seed(0)
train, valid = loaders()
net = BasketModel(N_ARTICLES)
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(3):
    net.train()
    for batch in train:
        loss = nn.functional.cross_entropy(net(batch["basket"]), batch["next"])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    hits = total = 0
    with torch.no_grad():
        for batch in valid:
            top = net(batch["basket"]).topk(10, dim=1).indices
            hits += (top == batch["next"][:, None]).any(1).sum().item()
            total += len(top)
    print(f"epoch {epoch} loss {loss.item():.3f} hit@10 {hits / total:.2f}")
