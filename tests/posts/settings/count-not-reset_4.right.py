# line 48: the meter of the squared errors is never reset, so each epoch shows the mean since the first
import torch
from torch import nn


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count

    def __str__(self):
        return f"{self.name} {self.avg:.4f}"


class WaterQuality(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return self.head(self.lstm(x)[1][0][-1]).squeeze(-1)


def measurements(n, steps=15):
    x = torch.randn(n, steps, 4).cumsum(1) / 4
    return x, x[:, -3:, 0].mean(1) - x[:, -1, 1] * 0.5


def run_training(epochs=6, size=32):
    net = WaterQuality()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    x, oxygen = measurements(400)
    train_meter, val_meter = AverageMeter("train"), AverageMeter("val")
    x_val, oxygen_val = measurements(120)
    for epoch in range(epochs):
        train_meter.reset()
        net.train()
        for rows in torch.randperm(len(x)).split(size):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x[rows]), oxygen[rows])
            loss.backward()
            optimizer.step()
            train_meter.update(loss.item(), len(rows))

        val_meter.reset()
        net.eval()
        with torch.no_grad():
            for a, b in zip(x_val.split(40), oxygen_val.split(40)):
                val_meter.update(nn.functional.mse_loss(net(a), b).item(), len(a))
        print(f"epoch {epoch}", train_meter, val_meter)


torch.manual_seed(0)
run_training()
