import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--emb_dropout", type=float, default=0.5)
    parser.add_argument("--clf_dropout", type=float, default=0.2)
    parser.add_argument("--proj_dim", type=int, default=32)
    parser.add_argument("--rnn_dim", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


class CombinedEmbedder(nn.Module):
    """Attention over several fixed word vector tables."""

    def __init__(self, args, tables):
        super().__init__()
        self.args = args
        self.tables = nn.ModuleList([nn.Embedding.from_pretrained(t, freeze=True) for t in tables])
        self.projections = nn.ModuleList([nn.Linear(t.size(1), args.proj_dim) for t in tables])
        self.attn = nn.Linear(args.proj_dim, 1)

    def forward(self, words):
        stacked = torch.stack([proj(table(words)) for table, proj in zip(self.tables, self.projections)], dim=2)
        weight = torch.softmax(self.attn(stacked), dim=2)
        out = torch.relu((weight * stacked).sum(dim=2))
        out = F.dropout(out, p=self.args.emb_dropout)
        return out


class SentenceEncoder(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.rnn = nn.LSTM(args.proj_dim, args.rnn_dim, bidirectional=True, batch_first=True)

    def forward(self, emb):
        out, _ = self.rnn(emb)
        return out.max(dim=1)[0]


class SentenceClassifier(nn.Module):
    def __init__(self, args, tables, n_classes):
        super().__init__()
        self.embedder = CombinedEmbedder(args, tables)
        self.encoder = SentenceEncoder(args)
        self.classifier = nn.Sequential(
            nn.Linear(2 * args.rnn_dim, 64), nn.ReLU(), nn.Dropout(args.clf_dropout), nn.Linear(64, n_classes))

    def forward(self, words):
        return self.classifier(self.encoder(self.embedder(words)))


def sentences(n, seed, vocab=200, length=12):
    rng = np.random.RandomState(seed)
    polarity = np.random.RandomState(7).randn(vocab)
    x = rng.randint(0, vocab, (n, length))
    score = polarity[x].sum(1)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy((score > 0).astype("int64")))


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for words, label in loader:
            correct += (model(words).argmax(1) == label).sum().item()
            total += len(label)
    return 100.0 * correct / total


def main():
    args = get_args()
    torch.manual_seed(1)
    tables = [torch.randn(200, 50), torch.randn(200, 30)]
    model = SentenceClassifier(args, tables, 2)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=args.lr)
    train_loader = DataLoader(sentences(800, 0), batch_size=40, shuffle=True)
    dev_loader = DataLoader(sentences(400, 1), batch_size=100)

    for epoch in range(args.epochs):
        model.train()
        for words, label in train_loader:
            loss = F.cross_entropy(model(words), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f} dev acc {evaluate(model, dev_loader):.2f}")

    print("same dev set again:", [round(evaluate(model, dev_loader), 2) for _ in range(3)])


if __name__ == "__main__":
    main()
