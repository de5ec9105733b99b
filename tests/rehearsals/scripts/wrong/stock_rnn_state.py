import argparse
import csv
import tempfile

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--seq-len", type=int, default=20)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--hidden", type=int, default=16)
args = parser.parse_args()

# a random walk for each share, as a table
table = tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", delete=False)
with table as f:
    writer = csv.writer(f)
    writer.writerow(["day"] + [f"share_{i}" for i in range(args.batch_size)])
    walk = np.cumsum(np.random.RandomState(0).randn(121, args.batch_size), axis=0)
    writer.writerows([day, *row] for day, row in enumerate(walk))

with open(table.name) as f:
    rows = list(csv.reader(f))[1:]
prices = torch.tensor([[float(v) for v in row[1:]] for row in rows])
returns = prices[1:] - prices[:-1]


class Trader(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gru = nn.GRU(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, h=None):
        y, h = self.gru(x, h)
        return self.out(y), h


torch.manual_seed(0)
model = Trader(args.hidden)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.SmoothL1Loss()

for epoch in range(args.epochs):
    hidden = None
    total, steps = 0.0, 0
    for start in range(0, len(returns) - args.seq_len, args.seq_len):
        x = returns[start:start + args.seq_len].unsqueeze(-1)
        y = returns[start + 1:start + 1 + args.seq_len].unsqueeze(-1)
        x = x[:len(y)]
        prediction, hidden = model(x, hidden)
        loss = loss_fn(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch + 1}, loss {total / steps:.4f}")
