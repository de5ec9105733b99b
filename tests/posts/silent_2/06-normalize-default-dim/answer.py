from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    vocab: int = 500
    dim: int = 48
    query_len: int = 8
    doc_len: int = 24
    batch_size: int = 32
    epochs: int = 3
    temperature: float = 1.0


class LateInteraction(nn.Module):
    """Token level matching of a query with a document."""

    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        layer = nn.TransformerEncoderLayer(cfg.dim, 4, 96, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.linear = nn.Linear(cfg.dim, 32, bias=False)

    def encode(self, ids):
        hidden = self.linear(self.encoder(self.embed(ids)))
        return F.normalize(hidden, dim=-1)

    def forward(self, queries, docs):
        q, d = self.encode(queries), self.encode(docs)
        sim = torch.einsum("aqe,bde->abqd", q, d)
        return sim.max(dim=-1).values.sum(dim=-1)


def recall_at_1(model, loader, device):
    model.eval()
    hits, n = 0, 0
    with torch.no_grad():
        for q, d in loader:
            scores = model(q.to(device), d.to(device))
            hits += (scores.argmax(1) == torch.arange(len(q), device=device)).sum().item()
            n += len(q)
    return hits / n


def main(cfg):
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    docs = torch.randint(0, cfg.vocab, (320, cfg.doc_len))
    queries = docs[:, 4:4 + cfg.query_len].clone()
    train = DataLoader(TensorDataset(queries[:256], docs[:256]), cfg.batch_size, shuffle=True)
    test = DataLoader(TensorDataset(queries[256:], docs[256:]), cfg.batch_size)
    model = LateInteraction(cfg).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for epoch in range(cfg.epochs):
        model.train()
        for q, d in train:
            scores = model(q.to(device), d.to(device)) / cfg.temperature
            loss = F.cross_entropy(scores, torch.arange(len(q), device=device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        r1 = recall_at_1(model, test, device)
        print(f"epoch {epoch} | loss {loss.item():.6f} | R@1 {r1:.3f}")


if __name__ == "__main__":
    main(Config())
