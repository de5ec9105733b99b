# line 31: the cosine function returns rates between 1e-4 and 0.02, by which LambdaLR multiplies the rate of 0.02
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

HPARAMS = {"lr_max": 0.02, "lr_min": 1e-4, "epochs": 10, "batch": 25}


class Autoencoder(nn.Module):
    def __init__(self, pixels=64, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 32), nn.ReLU(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, pixels))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Pretraining:
    def __init__(self, hp):
        self.hp = hp
        self.net = Autoencoder()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=hp["lr_max"])
        self.scheduler = LambdaLR(self.optimizer, lr_lambda=self.cosine)

    def cosine(self, epoch):
        swing = 0.5 * (1 + math.cos(math.pi * epoch / self.hp["epochs"]))
        rate = self.hp["lr_min"] + (self.hp["lr_max"] - self.hp["lr_min"]) * swing
        return rate

    def fit(self, x):
        for epoch in range(self.hp["epochs"]):
            self.net.train()
            total = 0.0
            for rows in torch.randperm(len(x)).split(self.hp["batch"]):
                self.optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.net(x[rows]), x[rows])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(rows)
            self.scheduler.step()
            print(epoch, total / len(x))


def blobs(n, side=8):
    yy, xx = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    at = 1 + 5 * torch.rand(n, 2, 1, 1)
    return torch.exp(-((yy - at[:, 0]) ** 2 + (xx - at[:, 1]) ** 2) / 3).flatten(1)


torch.manual_seed(0)
job = Pretraining(HPARAMS)
job.fit(blobs(400))
job.net.eval()
with torch.no_grad():
    x = blobs(100)
    print("test", nn.functional.mse_loss(job.net(x), x).item())
