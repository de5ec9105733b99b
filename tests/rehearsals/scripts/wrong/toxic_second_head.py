"""Is a comment toxic, and how badly? Bag of embeddings with two heads."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

VOCAB = 200
LENGTH = 16


class Comments(Dataset):
    def __init__(self, count, seed):
        rnd = random.Random(seed)
        self.rows = []
        for _ in range(count):
            tokens = [rnd.randrange(1, VOCAB) for _ in range(LENGTH)]
            bad = sum(t < 20 for t in tokens)
            self.rows.append((tokens, int(bad > 1), min(bad, 4)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        tokens, toxic, severity = self.rows[index]
        return {
            "tokens": torch.tensor(tokens, dtype=torch.long),
            "toxic": torch.tensor(toxic, dtype=torch.float32),
            "severity": torch.tensor(severity, dtype=torch.long),
        }


class TwoHeads(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.embedding = nn.EmbeddingBag(VOCAB, width)
        self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1))
        self.toxic_head = nn.Linear(width, 1)
        self.severity_head = nn.Linear(width, 5)

    def forward(self, tokens):
        shared = self.body(self.embedding(tokens))
        return self.toxic_head(shared).squeeze(-1), self.severity_head(shared)


def compute_loss(outputs, batch):
    toxic_logits, severity_logits = outputs
    toxic_loss = nn.functional.binary_cross_entropy_with_logits(toxic_logits, batch["toxic"])
    severity_loss = nn.functional.cross_entropy(severity_logits, batch["severity"])
    return toxic_loss, {"toxic": toxic_loss.item(), "severity": severity_loss.item()}


def train(model, loader, optimizer, epochs):
    for epoch in range(epochs):
        model.train()
        logs = {"toxic": 0.0, "severity": 0.0}
        for batch in loader:
            loss, parts = compute_loss(model(batch["tokens"]), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for key, value in parts.items():
                logs[key] += value
        print(epoch, {k: round(v / len(loader), 4) for k, v in logs.items()})


def main():
    torch.manual_seed(5)
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    train(model, DataLoader(Comments(80, 0), batch_size=16, shuffle=True), optimizer, 3)
    model.eval()
    batch = next(iter(DataLoader(Comments(20, 1), batch_size=20)))
    with torch.no_grad():
        toxic, severity = model(batch["tokens"])
    print("toxic", ((toxic > 0) == (batch["toxic"] > 0.5)).float().mean().item())
    print("severity", (severity.argmax(1) == batch["severity"]).float().mean().item())


main()
