import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Interactor(nn.Module):
    def __init__(self, channels, kernel=3, dropout=0.2, hidden=2):
        super(Interactor, self).__init__()
        pad = kernel // 2

        def branch():
            return nn.Sequential(
                nn.ReplicationPad1d(pad + 1),
                nn.Conv1d(channels, channels * hidden, kernel), nn.LeakyReLU(0.01), nn.Dropout(dropout),
                nn.Conv1d(channels * hidden, channels, 3), nn.Tanh())

        self.phi, self.psi, self.P, self.U = branch(), branch(), branch(), branch()

    def forward(self, x):
        even, odd = x[:, ::2].permute(0, 2, 1), x[:, 1::2].permute(0, 2, 1)
        d = odd * torch.exp(self.phi(even))
        c = even * torch.exp(self.psi(odd))
        return (c + self.U(d)).permute(0, 2, 1), (d - self.P(c)).permute(0, 2, 1)


class SplitTree(nn.Module):
    def __init__(self, level, channels):
        super(SplitTree, self).__init__()
        self.level = level
        self.block = Interactor(channels)
        if level > 0:
            self.left = SplitTree(level - 1, channels)
            self.right = SplitTree(level - 1, channels)

    def forward(self, x):
        even, odd = self.block(x)
        if self.level > 0:
            even, odd = self.left(even), self.right(odd)
        out = torch.stack([even, odd], dim=2)
        return out.reshape(x.shape[0], -1, x.shape[2])


class StackedForecaster(nn.Module):
    def __init__(self, input_len, output_len, channels, levels=2, positional=True, rin=False):
        super(StackedForecaster, self).__init__()
        self.output_len = output_len
        self.pe, self.rin = positional, rin
        self.tree = SplitTree(levels, channels)
        self.projection = nn.Conv1d(input_len, output_len, kernel_size=1, bias=False)
        if rin:
            self.affine_weight = nn.Parameter(torch.ones(1, 1, channels))
            self.affine_bias = nn.Parameter(torch.zeros(1, 1, channels))
        self.hidden = channels + channels % 2
        scales = self.hidden // 2
        inv = torch.exp(torch.arange(scales, dtype=torch.float32) * -(math.log(10000.0) / max(scales - 1, 1)))
        self.register_buffer('inv_timescales', inv)

    def get_position_encoding(self, x):
        position = torch.arange(x.size(1), dtype=torch.float32, device=x.device)
        scaled = position.unsqueeze(1) * self.inv_timescales.unsqueeze(0)
        signal = torch.cat([torch.sin(scaled), torch.cos(scaled)], dim=1)
        return signal.view(1, x.size(1), self.hidden)[:, :, :x.size(2)]

    def forward(self, x):
        output = torch.zeros(x.shape[0], self.output_len, x.shape[2], dtype=x.dtpye, device=x.device)
        if self.pe:
            x = x + self.get_position_encoding(x)
        if self.rin:
            means = x.mean(1, keepdim=True).detach()
            x = x - means
            stdev = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
            x = x / stdev * self.affine_weight + self.affine_bias
        res = x
        x = self.tree(x) + res
        output = output + self.projection(x)
        if self.rin:
            output = (output - self.affine_bias) / (self.affine_weight + 1e-10) * stdev + means
        return output


def windows(n=600, channels=7, in_len=32, out_len=16):
    t = np.arange(n)
    rng = np.random.RandomState(7)
    series = np.stack([np.sin(t / (3 + c)) + 0.1 * rng.randn(n) for c in range(channels)], 1).astype('float32')
    xs = np.stack([series[i:i + in_len] for i in range(n - in_len - out_len)])
    ys = np.stack([series[i + in_len:i + in_len + out_len] for i in range(n - in_len - out_len)])
    return torch.from_numpy(xs), torch.from_numpy(ys)


def run():
    torch.manual_seed(4321)
    xs, ys = windows()
    cut = 450
    train_loader = DataLoader(TensorDataset(xs[:cut], ys[:cut]), batch_size=32, shuffle=True)
    model = StackedForecaster(32, 16, 7, rin=True)
    optim = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        model.train()
        total = 0.
        for x, y in train_loader:
            optim.zero_grad()
            loss = nn.functional.l1_loss(model(x), y)
            loss.backward()
            optim.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            mae = (model(xs[cut:]) - ys[cut:]).abs().mean().item()
        print('epoch %d train %.4f test MAE %.4f' % (epoch, total / len(train_loader), mae))


if __name__ == '__main__':
    run()
