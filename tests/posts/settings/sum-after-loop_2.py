# line 24: the predictions of the validation are extended once behind the loop and hold the last batch only
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(81)
rng = np.random.default_rng(81)
x = rng.normal(size=(360, 7)).astype(np.float32)
price = (x[:, 0] * 3 - x[:, 1] ** 2 + 0.2 * rng.normal(size=360)).astype(np.float32)
pairs = TensorDataset(torch.from_numpy(x), torch.from_numpy(price))
train_part, valid_part = torch.utils.data.random_split(pairs, [300, 60])
train = DataLoader(train_part, batch_size=30, shuffle=True)
valid = DataLoader(valid_part, batch_size=15)


def validate(net):
    net.eval()
    squares, absolute, seen = 0.0, 0.0, len(valid.dataset)
    with torch.no_grad():
        for features, target in valid:
            residual = net(features).view(-1) - target
            squares += residual.pow(2).sum().item()
        absolute += residual.abs().sum().item()
    return {"mse": squares / seen, "mae": absolute / seen}


def fit(net, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    log = []
    for epoch in range(epochs):
        net.train()
        for features, target in train:
            opt.zero_grad()
            nn.functional.huber_loss(net(features).view(-1), target).backward()
            opt.step()
        log.append(validate(net))
    return log


for row in fit(nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1)), 5):
    print({k: round(v, 4) for k, v in row.items()})
