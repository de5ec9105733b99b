import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

AMINO = "ACDEFGHIKLMNPQRSTVWY"
TOKENS = {"<cls>": 0, "<pad>": 1, "<eos>": 2, **{a: i + 3 for i, a in enumerate(AMINO)}}
PAD = TOKENS["<pad>"]
SS3 = {"C": 0, "H": 1, "E": 2}
HELIX, STRAND = set("AELMQKRH"), set("VIYCWFT")


def random_protein(rng):
    length = rng.integers(20, 150)
    seq = "".join(rng.choice(list(AMINO), size=length))
    ss = "".join("H" if a in HELIX else "E" if a in STRAND else "C" for a in seq)
    return seq, ss


class SSPDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = [random_protein(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        seq, ss = self.items[idx]
        return torch.tensor([TOKENS[a] for a in seq]), torch.tensor([SS3[s] for s in ss])


def collate(batch):
    longest = max(len(tokens) for tokens, _ in batch)
    tokens = torch.full((len(batch), longest), PAD, dtype=torch.long)
    labels = torch.zeros(len(batch), longest, dtype=torch.long)
    for row, (t, l) in enumerate(batch):
        tokens[row, : len(t)] = t
        labels[row, : len(l)] = l
    return tokens, labels


class ProteinEncoder(nn.Module):
    def __init__(self, dim, depth, heads):
        super().__init__()
        self.embed = nn.Embedding(len(TOKENS), dim, padding_idx=PAD)
        self.position = nn.Embedding(256, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, tokens):
        padding_mask = tokens.eq(PAD)
        x = self.embed(tokens) + self.position(torch.arange(tokens.size(1), device=tokens.device))
        x = x * (~padding_mask).unsqueeze(-1).type_as(x)
        x = self.layers(x, src_key_padding_mask=padding_mask)
        return x * (~padding_mask).unsqueeze(-1).type_as(x)


class SSPModel(nn.Module):
    def __init__(self, dim=64, depth=2, heads=4, num_classes=3):
        super().__init__()
        self.encoder = ProteinEncoder(dim, depth, heads)
        self.conv = nn.Sequential(nn.Conv1d(dim, 32, 7, padding=3), nn.ReLU(), nn.Conv1d(32, num_classes, 7, padding=3))

    def forward(self, tokens):
        return self.conv(self.encoder(tokens).transpose(1, 2)).transpose(1, 2)


def loss_and_hits(model, tokens, labels):
    logits = model(tokens)
    keep = tokens.ne(PAD)
    loss = F.cross_entropy(logits[keep], labels[keep])
    hits = (logits.argmax(-1) == labels)[keep].sum().item()
    return loss, hits, int(keep.sum())


def evaluate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            _, h, n = loss_and_hits(model, tokens, labels)
            hits, total = hits + h, total + n
    return hits / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train = DataLoader(SSPDataset(160, 0), args.batch_size, shuffle=True, collate_fn=collate)
    test = DataLoader(SSPDataset(48, 1), args.batch_size, collate_fn=collate)
    model = SSPModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for tokens, labels in train:
            loss, _, _ = loss_and_hits(model, tokens, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(train):.4f} Q3 {evaluate(model, test):.4f}")


if __name__ == "__main__":
    main()
