"""GRU4Rec style session based recommendation with session-parallel mini-batches."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SessionLoader:
    """Yields input items, target items and the rows in which a new session begins."""

    def __init__(self, sessions, batch_size):
        self.sessions, self.batch_size = sessions, batch_size

    def __iter__(self):
        iters = np.arange(self.batch_size)
        pos = np.zeros(self.batch_size, dtype=int)
        mask, next_session = [], self.batch_size
        while True:
            inp = [self.sessions[s][p] for s, p in zip(iters, pos)]
            tgt = [self.sessions[s][p + 1] for s, p in zip(iters, pos)]
            yield torch.tensor(inp), torch.tensor(tgt), mask
            pos += 1
            mask = [i for i in range(self.batch_size) if pos[i] + 1 >= len(self.sessions[iters[i]])]
            for i in mask:
                if next_session >= len(self.sessions):
                    return
                iters[i], pos[i] = next_session, 0
                next_session += 1


class GRU4REC(nn.Module):
    def __init__(self, n_items, hidden_size=64, num_layers=1):
        super().__init__()
        self.num_layers, self.hidden_size = num_layers, hidden_size
        self.emb = nn.Embedding(n_items, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, num_layers)
        self.h2o = nn.Linear(hidden_size, n_items)

    def forward(self, items, hidden):
        out, hidden = self.gru(self.emb(items).unsqueeze(0), hidden)
        return self.h2o(out.squeeze(0)), hidden

    def init_hidden(self, batch_size):
        return torch.zeros(self.num_layers, batch_size, self.hidden_size)


def train_epoch(model, loader, optimizer):
    model.train()
    hidden, losses = model.init_hidden(loader.batch_size), []
    for items, target, mask in loader:
        hidden = hidden.detach()
        if len(mask):
            hidden[:, mask, :] = 0
        logit, hidden = model(items, hidden)
        loss = F.cross_entropy(logit, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def evaluate(model, loader, k=20):
    model.eval()
    recalls, mrrs = [], []
    with torch.no_grad():
        hidden = model.init_hidden(loader.batch_size)
        for items, target, mask in loader:
            hidden[:, mask, :] = 0
            logit, hidden = model(items, hidden)
            top = logit.topk(k, dim=1).indices
            hit = top == target[:, None]
            recalls.append(hit.any(dim=1).float().mean().item())
            rank = torch.arange(1, k + 1)
            mrrs.append((hit / rank).sum(dim=1).mean().item())
    return np.mean(recalls), np.mean(mrrs)


parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--batch_size', type=int, default=16)
args = parser.parse_args()
rng, n_items = np.random.RandomState(22), 120
sessions = [list((rng.randint(n_items) + 3 * np.arange(rng.randint(2, 9))) % n_items) for _ in range(260)]
model = GRU4REC(n_items)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for epoch in range(args.epochs):
    loss = train_epoch(model, SessionLoader(sessions[:200], args.batch_size), optimizer)
    print('epoch', epoch, 'loss', loss, 'recall, mrr', evaluate(model, SessionLoader(sessions[200:], args.batch_size)))
