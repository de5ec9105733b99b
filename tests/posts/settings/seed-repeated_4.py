# line 22: a generator with the same seed is made anew in each epoch, so all epochs have one order and one set of masks
import torch
from torch import nn


class MaskedTableModel(nn.Module):
    def __init__(self, columns=8, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * columns, width), nn.ReLU(), nn.Linear(width, columns))

    def forward(self, values, hidden):
        return self.net(torch.cat([values.masked_fill(hidden, 0.0), hidden.float()], dim=1))


class Pretraining:
    def __init__(self, table, seed=7, batch=32):
        self.table, self.seed, self.batch = table, seed, batch
        self.model = MaskedTableModel(table.shape[1])
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)

    def epoch(self):
        generator = torch.Generator().manual_seed(self.seed)
        total = 0.0
        for rows in torch.randperm(len(self.table), generator=generator).split(self.batch):
            values = self.table[rows]
            hidden = torch.rand(values.shape, generator=generator) < 0.3
            restored = self.model(values, hidden)
            loss = (restored - values)[hidden].square().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() * len(rows)
        return total / len(self.table)


def correlated_table(rows, columns=8, factors=2):
    loading = torch.randn(factors, columns)
    return torch.randn(rows, factors) @ loading + 0.2 * torch.randn(rows, columns)


torch.manual_seed(7)
pretraining = Pretraining(correlated_table(480))
for epoch in range(8):
    print(f"epoch {epoch}: error of the hidden cells {pretraining.epoch():.4f}")
