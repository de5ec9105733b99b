# line 32: the goals are uint8 columns of the table: away wins give differences near 255
import numpy as np
import pandas as pd
import torch
from torch import nn

rng = np.random.default_rng(34)
TEAMS = 12
strength = rng.normal(0, 0.5, TEAMS)


def season(matches=600):
    home = rng.integers(0, TEAMS, matches)
    away = (home + rng.integers(1, TEAMS, matches)) % TEAMS
    table = pd.DataFrame({"home": home, "away": away})
    table["home_goals"] = rng.poisson(np.exp(0.3 + strength[home] - strength[away])).astype(np.uint8)
    table["away_goals"] = rng.poisson(np.exp(strength[away] - strength[home])).astype(np.uint8)
    return table


class RatingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rating = nn.Embedding(TEAMS, 1)
        self.home_advantage = nn.Parameter(torch.zeros(1))

    def forward(self, home, away):
        return (self.rating(home) - self.rating(away)).squeeze(1) + self.home_advantage


def tensors(table):
    margin = (table["home_goals"].astype(int) - table["away_goals"].astype(int)).to_numpy().astype(np.float32)
    teams = torch.from_numpy(table[["home", "away"]].to_numpy(copy=True))
    return teams[:, 0], teams[:, 1], torch.from_numpy(margin)


torch.manual_seed(34)
home, away, margin = tensors(season())
net = RatingNet()
opt = torch.optim.Adam(net.parameters(), lr=0.03)
for epoch in range(6):
    running = 0.0
    for rows in torch.randperm(len(margin)).split(50):
        loss = nn.functional.mse_loss(net(home[rows], away[rows]), margin[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(rows)
    print("epoch", epoch, "squared error of the margin", running / len(margin))
fitted = net.rating.weight.detach().squeeze(1).numpy()
print("correlation with the true strength", np.corrcoef(fitted, strength)[0, 1])
