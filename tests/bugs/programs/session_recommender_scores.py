import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.Wq = nn.Linear(d_model, d_model)
        self.Wk = nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.scale = d_model**0.5
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        Q = self.Wq(x)
        K = self.Wk(x)
        V = self.Wv(x)
        energy = torch.matmul(Q, K) / self.scale
        attention = torch.softmax(energy, dim=-1)
        return torch.matmul(self.drop(attention), V)


class SessionRecommender(nn.Module):
    def __init__(self, n_items, d_model, n_layers, dropout=0.1):
        super().__init__()
        self.item_embedding = nn.Embedding(n_items, d_model)
        self.layers = nn.ModuleList(
            SelfAttention(d_model, dropout) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model)

    def forward(self, session):
        h = self.item_embedding(session)
        for layer in self.layers:
            h = self.norm(h + layer(h))
        last = h[:, -1]
        return last @ self.item_embedding.weight.T


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = SessionRecommender(n_items=300, d_model=40, n_layers=2)

    def forward(self, session):
        return self.net(session)


def example_inputs():
    return (torch.randint(0, 300, (4, 13)),)
