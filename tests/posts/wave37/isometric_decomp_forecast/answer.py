import argparse
import math

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

parser = argparse.ArgumentParser(description='multi-scale isometric conv forecasting')
parser.add_argument('--seq_len', type=int, default=96, help='input sequence length')
parser.add_argument('--label_len', type=int, default=96, help='start token length')
parser.add_argument('--pred_len', type=int, default=24, help='prediction sequence length')
parser.add_argument('--c_in', type=int, default=5)
parser.add_argument('--d_model', type=int, default=32)
parser.add_argument('--conv_kernel', type=int, nargs='+', default=[8, 12])
parser.add_argument('--batch_size', type=int, default=16)
parser.add_argument('--train_epochs', type=int, default=1)
parser.add_argument('--learning_rate', type=float, default=1e-3)
args = parser.parse_args()


class StationLoad(Dataset):
    def __init__(self, n_hours=700):
        stamps = pd.date_range('2019-03-01', periods=n_hours, freq='h')
        t = np.arange(n_hours)
        rng = np.random.default_rng(1)
        cols = [np.sin(2 * np.pi * (t + s) / 24) + 0.1 * rng.standard_normal(n_hours) for s in range(args.c_in)]
        self.data = np.stack(cols, 1).astype('float32')
        self.marks = np.stack([stamps.month - 1, stamps.day - 1, stamps.weekday, stamps.hour], 1).astype('int64')

    def __getitem__(self, index):
        s_end = index + args.seq_len
        r_begin = s_end - args.label_len
        r_end = r_begin + args.label_len + args.pred_len
        return self.data[index:s_end], self.data[r_begin:r_end], self.marks[index:s_end], self.marks[r_begin:r_end]

    def __len__(self):
        return len(self.data) - args.seq_len - args.pred_len + 1


class DataEmbedding(nn.Module):
    def __init__(self, c_in, d_model, max_len=2000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        pos = torch.arange(max_len).float().unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer('pe', pe.unsqueeze(0))
        self.value_embedding = nn.Conv1d(c_in, d_model, 3, padding=1, padding_mode='circular', bias=False)
        self.temporal = nn.ModuleList([nn.Embedding(n, d_model) for n in (12, 31, 7, 24)])
        self.dropout = nn.Dropout(0.05)

    def forward(self, x, x_mark):
        value = self.value_embedding(x.permute(0, 2, 1)).transpose(1, 2)
        temporal = sum(emb(x_mark[:, :, i]) for i, emb in enumerate(self.temporal))
        return self.dropout(value + self.pe[:, :x.size(1)] + temporal)


class SeasonalBlock(nn.Module):
    def __init__(self, d_model, kernel):
        super().__init__()
        self.down = nn.Conv1d(d_model, d_model, kernel, stride=kernel, padding=kernel // 2)
        self.up = nn.ConvTranspose1d(d_model, d_model, kernel, stride=kernel)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        y = torch.tanh(self.down(x.transpose(1, 2)))
        y = torch.tanh(self.up(y))[:, :, :x.size(1)].transpose(1, 2)
        return self.norm(x + y)


class IsoForecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.trend = nn.Linear(args.seq_len, args.pred_len)
        self.embed = DataEmbedding(args.c_in, args.d_model)
        self.blocks = nn.ModuleList([SeasonalBlock(args.d_model, k) for k in args.conv_kernel])
        self.proj = nn.Linear(args.d_model, args.c_in)

    def forward(self, x_enc, x_mark_dec):
        mean = nn.functional.avg_pool1d(x_enc.transpose(1, 2), 25, stride=1, padding=12, count_include_pad=False)
        trend = self.trend(mean).transpose(1, 2)
        seasonal = x_enc - mean.transpose(1, 2)
        zeros = torch.zeros(x_enc.size(0), args.pred_len, x_enc.size(2), device=x_enc.device)
        out = self.embed(torch.cat([seasonal, zeros], dim=1), x_mark_dec)
        out = sum(block(out) for block in self.blocks) / len(self.blocks)
        return self.proj(out)[:, -args.pred_len:] + trend


torch.manual_seed(2021)
loader = DataLoader(StationLoad(), batch_size=args.batch_size, shuffle=True, drop_last=True)
model = IsoForecaster()
optim = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
criterion = nn.MSELoss()

for epoch in range(args.train_epochs):
    losses = []
    for batch_x, batch_y, batch_x_mark, batch_y_mark in loader:
        optim.zero_grad()
        pred = model(batch_x, batch_y_mark)
        loss = criterion(pred, batch_y[:, -args.pred_len:])
        losses.append(loss.item())
        loss.backward()
        optim.step()
    print('epoch {} train loss {:.4f}'.format(epoch + 1, np.mean(losses)))
