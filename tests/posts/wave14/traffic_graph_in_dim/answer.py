import argparse
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument('--nodes', type=int, default=20)
parser.add_argument('--seq_in', type=int, default=12)
parser.add_argument('--seq_out', type=int, default=12)
parser.add_argument('--in_dim', type=int, default=3)
parser.add_argument('--hidden', type=int, default=16)
parser.add_argument('--batch', type=int, default=32)
args = parser.parse_args([])


def speeds(n_nodes, days=3, seed=5):
    rng = np.random.default_rng(seed)
    index = pd.date_range('2012-03-01', periods=days * 288, freq='5min')
    hour = index.hour + index.minute / 60
    base = 60 - 18 * np.exp(-(hour.to_numpy() - 8) ** 2 / 4) - 15 * np.exp(-(hour.to_numpy() - 17) ** 2 / 5)
    return pd.DataFrame(base[:, None] + rng.normal(0, 3, (len(index), n_nodes)), index=index)


def make_windows(df, x_offsets, y_offsets, add_time_in_day=False, add_day_in_week=False):
    num_samples, num_nodes = df.shape
    data = [np.expand_dims(df.values, axis=-1)]
    if add_time_in_day:
        frac = (df.index - df.index.normalize()) / pd.Timedelta(days=1)
        data.append(np.tile(np.asarray(frac), [1, num_nodes, 1]).transpose((2, 1, 0)))
    if add_day_in_week:
        dow = np.asarray(df.index.dayofweek, dtype=float) / 7
        data.append(np.tile(dow, [1, num_nodes, 1]).transpose((2, 1, 0)))
    data = np.concatenate(data, axis=-1)
    lo, hi = abs(min(x_offsets)), num_samples - max(y_offsets)
    x = np.stack([data[t + x_offsets] for t in range(lo, hi)])
    y = np.stack([data[t + y_offsets] for t in range(lo, hi)])
    return x.astype('float32'), y.astype('float32')


class GatedBlock(nn.Module):
    def __init__(self, c, dilation, nodes):
        super().__init__()
        self.filt = nn.Conv2d(c, c, (1, 2), dilation=(1, dilation))
        self.gate = nn.Conv2d(c, c, (1, 2), dilation=(1, dilation))
        self.adj = nn.Parameter(torch.randn(nodes, nodes) * 0.1)
        self.mix = nn.Conv2d(2 * c, c, 1)
        self.bn = nn.BatchNorm2d(c)

    def forward(self, x):
        h = torch.tanh(self.filt(x)) * torch.sigmoid(self.gate(x))
        g = torch.einsum('bcnt,nm->bcmt', h, F.softmax(self.adj, dim=0))
        h = self.mix(torch.cat([h, g], dim=1))
        return self.bn(h + x[..., -h.size(3):])


class TrafficNet(nn.Module):
    def __init__(self, nodes, in_dim, hidden, out_len):
        super().__init__()
        self.start = nn.Conv2d(in_dim, hidden, kernel_size=1)
        self.blocks = nn.ModuleList([GatedBlock(hidden, d, nodes) for d in (1, 2, 4)])
        self.end = nn.Conv2d(hidden, out_len, kernel_size=1)

    def forward(self, x):
        h = self.start(x)
        for block in self.blocks:
            h = block(h)
        return self.end(F.relu(h[..., -1:]))


torch.manual_seed(1)
frame = speeds(args.nodes)
x, y = make_windows(frame, np.arange(-args.seq_in + 1, 1), np.arange(1, args.seq_out + 1),
                    add_time_in_day=True, add_day_in_week=True)
mean, std = x[..., 0].mean(), x[..., 0].std()
x[..., 0] = (x[..., 0] - mean) / std
model = TrafficNet(args.nodes, args.in_dim, args.hidden, args.seq_out)
optim = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
order = np.random.default_rng(0).permutation(len(x))

for step in range(15):
    idx = order[step * args.batch:(step + 1) * args.batch]
    xb = torch.from_numpy(x[idx]).permute(0, 3, 2, 1)          # batch, features, nodes, time
    yb = torch.from_numpy(y[idx][..., 0]).unsqueeze(-1)
    pred = model(xb) * std + mean
    loss = (pred - yb).abs().mean()
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optim.step()
    if step % 5 == 0:
        print('step %d mae %.3f' % (step, loss.item()))
