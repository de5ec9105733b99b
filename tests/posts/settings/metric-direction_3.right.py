# line 8: the plateau scheduler of the config waits for the R2 of the validation to fall
import torch
from torch import nn
from torch.optim import lr_scheduler

config = {
    "optimizer": {"lr": 0.01},
    "scheduler": {"mode": "max", "factor": 0.3, "patience": 1},
    "epochs": 14,
    "batch": 40,
}


class SoilMoisture(nn.Module):
    def __init__(self, bands=10):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(bands, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Experiment:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.optimizer = torch.optim.Adam(model.parameters(), **cfg["optimizer"])
        self.scheduler = lr_scheduler.ReduceLROnPlateau(self.optimizer, **cfg["scheduler"])

    def train_epoch(self, x, y):
        self.model.train()
        for rows in torch.randperm(len(x)).split(self.cfg["batch"]):
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x[rows]), y[rows]).backward()
            self.optimizer.step()

    @torch.no_grad()
    def r2(self, x, y):
        self.model.eval()
        residual = (y - self.model(x)).square().sum()
        return (1 - residual / (y - y.mean()).square().sum()).item()

    def run(self, train, valid):
        for epoch in range(self.cfg["epochs"]):
            self.train_epoch(*train)
            val_r2 = self.r2(*valid)
            self.scheduler.step(val_r2)
            print(epoch, "R2", round(val_r2, 4), "lr", self.optimizer.param_groups[0]["lr"])


def pixels(n):
    x = torch.randn(n, 10)
    return x, torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(n)


torch.manual_seed(0)
Experiment(SoilMoisture(), config).run(pixels(600), pixels(200))
