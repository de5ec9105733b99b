# line 32: score matching on audio frames: the target is built of torch.normal noise drawn again, not of the noise that was added
import numpy as np
import torch
from torch import nn


def frames(n, size, seed):
    rs = np.random.RandomState(seed)
    phase = rs.uniform(0, 2 * np.pi, (n, 1))
    pitch = rs.uniform(1, 6, (n, 1))
    wave = np.sin(phase + pitch * np.linspace(0, 2 * np.pi, size))
    return torch.from_numpy(wave).float()


class ScoreNet(nn.Module):
    def __init__(self, size, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size + 1, hidden), nn.Softplus(), nn.Linear(hidden, size))

    def forward(self, noisy, sigma):
        return self.body(torch.cat([noisy, sigma.log()], dim=1)) / sigma


def perturb(clean, sigma):
    z = torch.normal(0.0, 1.0, size=clean.shape)
    return clean + sigma * z


def dsm_loss(net, clean, levels):
    sigma = levels[torch.randint(len(levels), (clean.size(0), 1))]
    noisy = perturb(clean, sigma)
    z = torch.normal(0.0, 1.0, size=clean.shape)
    residual = sigma * net(noisy, sigma) + z
    return residual.pow(2).sum(dim=1).mean() / 2


def main(cfg):
    torch.manual_seed(cfg["seed"])
    data = frames(512, cfg["size"], cfg["seed"])
    levels = torch.logspace(-2, 0, 6)
    net = ScoreNet(cfg["size"])
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        for idx in torch.randperm(len(data)).split(64):
            opt.zero_grad()
            loss = dsm_loss(net, data[idx], levels)
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main({"size": 32, "lr": 1e-3, "epochs": 8, "seed": 0})
