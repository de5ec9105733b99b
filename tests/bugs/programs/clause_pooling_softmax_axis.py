import torch
import torch.nn as nn


class AttentivePooling(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.score = nn.Sequential(
            nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        # x: (batch, steps, dim)
        w = torch.softmax(self.score(x), dim=2)
        return (w * x).sum(dim=1)


class ContractClassifier(nn.Module):
    def __init__(self, vocab, dim, hidden, n_clauses):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.pool = AttentivePooling(dim, hidden)
        self.out = nn.Linear(dim, n_clauses)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        x = torch.relu(self.conv(x)).transpose(1, 2)
        return self.out(self.pool(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = ContractClassifier(vocab=150, dim=28, hidden=16, n_clauses=6)

    def forward(self, ids):
        return self.net(ids)


def example_inputs():
    return (torch.randint(0, 150, (4, 19)),)
