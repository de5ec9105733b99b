# line 45: the list of mean losses of the batches is summed and divided by the number of windows (len of the tensor)
import math
import numpy as np
import torch
from torch import nn


def make_windows(length=16, n=320):
    t = np.arange(n + length)
    s = np.sin(t / 6) + 0.3 * np.random.RandomState(0).randn(len(t))
    w = np.stack([s[i:i + length] for i in range(n)])
    return torch.tensor(w, dtype=torch.float32)


class GaussianAR(nn.Module):
    def __init__(self, order=15):
        super().__init__()
        self.hidden = nn.Linear(order, 24)
        self.mean, self.logvar = nn.Linear(24, 1), nn.Linear(24, 1)

    def forward(self, past):
        h = torch.tanh(self.hidden(past))
        return self.mean(h).squeeze(1), self.logvar(h).squeeze(1).exp()


loss_fn = nn.GaussianNLLLoss(full=True)
torch.manual_seed(0)
windows = make_windows()
train, test = windows[:240], windows[256:]
net = GaussianAR()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def sweep(data, size=32, learn=False):
    values = []
    rows = torch.randperm(len(data)) if learn else torch.arange(len(data))
    for idx in rows.split(size):
        mu, var = net(data[idx, :-1])
        loss = loss_fn(mu, data[idx, -1], var)
        if learn:
            opt.zero_grad()
            loss.backward()
            opt.step()
        values.append(loss.item())
    return math.fsum(values) / len(data)


for epoch in range(5):
    net.train()
    fit = sweep(train, learn=True)
    net.eval()
    with torch.no_grad():
        print(f"{epoch}: train nll {fit:.4f}  test nll {sweep(test):.4f}")
