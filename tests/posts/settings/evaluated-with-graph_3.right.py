# line 31: validate() runs the network with gradients recorded: neither it nor its caller turns them off
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class RunningRMSE:
    def __init__(self):
        self.squares, self.n = torch.zeros(()), 0

    def update(self, prediction, target):
        self.squares = self.squares + (prediction - target).square().sum()
        self.n += target.numel()

    def compute(self):
        return torch.sqrt(self.squares / self.n).item()


class EnergyTrainer:
    def __init__(self, net, lr=5e-3):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=lr)

    def train_epoch(self, loader):
        self.net.train()
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.net(x).squeeze(1), y).backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self, loader):
        self.net.eval()
        metric = RunningRMSE()
        for x, y in loader:
            metric.update(self.net(x).squeeze(1), y)
        return metric.compute()


def buildings(n, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 9, generator=gen)
    y = x[:, 0] * x[:, 1] + x[:, 2:].mean(1)
    return TensorDataset(x, y)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Dropout(0.05), nn.Linear(32, 1))
trainer = EnergyTrainer(net)
train_loader = DataLoader(buildings(600, 1), batch_size=50, shuffle=True)
val_loader = DataLoader(buildings(200, 2), batch_size=50)
for epoch in range(6):
    trainer.train_epoch(train_loader)
    print(epoch, "rmse", round(trainer.validate(val_loader), 4))
