# line 30: the encoder's output is (steps, samples, width): its rows are flattened by step and the targets by sample
import numpy as np
import torch
import torch.nn as nn


class SensorTransformer(nn.Module):
    def __init__(self, n_sensors=5, width=16):
        super().__init__()
        self.up = nn.Linear(n_sensors, width)
        layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=32, dropout=0.0)
        self.enc = nn.TransformerEncoder(layer, num_layers=1)
        self.down = nn.Linear(width, 1)

    def forward(self, series):
        z = self.up(series).permute(1, 0, 2)
        return self.down(self.enc(z))


def simulate(n, steps, seed):
    rs = np.random.RandomState(seed)
    raw = rs.randn(n, steps, 5).cumsum(axis=1) * 0.3
    power = np.tanh(raw[..., 0]) + 0.5 * raw[..., 3]
    return torch.as_tensor(raw, dtype=torch.float), torch.as_tensor(power, dtype=torch.float)


def regression_loss(estimate, truth):
    a = torch.flatten(estimate)
    b = torch.flatten(truth)
    return torch.nn.functional.smooth_l1_loss(a, b)


def run(steps=18, n=48, epochs=5):
    torch.manual_seed(2)
    series, power = simulate(n, steps, 2)
    net = SensorTransformer()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        for chunk in torch.randperm(n).chunk(4):
            loss = regression_loss(net(series[chunk]), power[chunk])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, round(loss.item(), 4))
    return net


if __name__ == "__main__":
    run()
