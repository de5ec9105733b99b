# line 49: the model gives (B, 1) logits while the churn targets are (B,); mended by: adding a dim to the targets
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    n_customers: int = 128
    weeks: int = 26
    channels: int = 3
    hidden: int = 20
    epochs: int = 3
    lr: float = 5e-3


class ChurnDataset(Dataset):
    def __init__(self, cfg):
        g = torch.Generator().manual_seed(17)
        self.usage = torch.rand(cfg.n_customers, cfg.weeks, cfg.channels, generator=g)
        self.churn = torch.randint(0, 2, (cfg.n_customers,), generator=g)
        fade = torch.linspace(1, 0.1, cfg.weeks).view(1, -1, 1)
        self.usage = torch.where(self.churn.view(-1, 1, 1) == 1, self.usage * fade, self.usage)

    def __len__(self):
        return len(self.usage)

    def __getitem__(self, i):
        return {"usage": self.usage[i], "churn": self.churn[i].float()}


class ChurnGRU(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gru = nn.GRU(cfg.channels, cfg.hidden, num_layers=1, batch_first=True)
        self.fc = nn.Linear(cfg.hidden, 1)

    def forward(self, usage):
        _, h = self.gru(usage)
        return self.fc(h[-1])


def run_epoch(model, loader, criterion, optimizer):
    total, right = 0.0, 0
    for batch in loader:
        logits = model(batch["usage"])
        target = batch["churn"]
        loss = criterion(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += ((logits > 0).float() == target).sum().item()
    return total / len(loader), right / len(loader.dataset)


def main():
    cfg = Config()
    torch.manual_seed(0)
    loader = DataLoader(ChurnDataset(cfg), batch_size=16, shuffle=True)
    model = ChurnGRU(cfg)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.3]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        print("epoch %d loss %.3f acc %.3f" % (epoch, *run_epoch(model, loader, criterion, optimizer)))


main()
