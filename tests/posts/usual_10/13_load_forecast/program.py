import argparse

import numpy as np
import pandas as pd
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class LoadDataset(Dataset):
    borders = {"train": (0, 700), "val": (700, 850), "test": (850, 1000)}

    def __init__(self, df, flag, seq_len, label_len, pred_len):
        self.seq_len, self.label_len, self.pred_len = seq_len, label_len, pred_len
        values = df.to_numpy(np.float32)
        train = values[: self.borders["train"][1]]
        values = (values - train.mean(0)) / train.std(0)
        lo, hi = self.borders[flag]
        self.data = values[lo:hi]

    def __getitem__(self, i):
        s_end = i + self.seq_len
        r_begin = s_end - self.label_len
        return self.data[i:s_end], self.data[r_begin: s_end + self.pred_len]

    def __len__(self):
        return len(self.data) - self.seq_len - self.pred_len + 1


class EncDecTransformer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.enc_in = nn.Linear(args.n_vars, args.d_model)
        self.dec_in = nn.Linear(args.n_vars, args.d_model)
        self.pos = nn.Parameter(torch.randn(1, 256, args.d_model) * 0.02)
        self.core = nn.Transformer(args.d_model, 4, 1, 1, 64, dropout=0.05, batch_first=True)
        self.out = nn.Linear(args.d_model, args.n_vars)
        self.pred_len = args.pred_len

    def forward(self, x_enc, x_dec):
        src = self.enc_in(x_enc) + self.pos[:, : x_enc.size(1)]
        tgt = self.dec_in(x_dec) + self.pos[:, : x_dec.size(1)]
        return self.out(self.core(src, tgt))


class Exp:
    def __init__(self, args):
        self.args = args
        self.model = EncDecTransformer(args)
        self.criterion = nn.MSELoss()

    def get_loader(self, flag, df):
        a = self.args
        ds = LoadDataset(df, flag, a.seq_len, a.label_len, a.pred_len)
        return DataLoader(ds, a.batch_size, shuffle=flag == "train")

    def step(self, bx, by):
        a = self.args
        zeros = torch.zeros_like(by[:, -a.pred_len:])
        dec_inp = torch.cat([by[:, : a.label_len], zeros], dim=1)
        outputs = self.model(bx, dec_inp)
        target = by[:, -a.pred_len:]
        return outputs, target

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        se, n = 0.0, 0
        for bx, by in loader:
            pred, true = self.step(bx, by)
            se += self.criterion(pred, true).item() * true.numel()
            n += true.numel()
        return se / n

    def train(self, df):
        train, val, test = (self.get_loader(f, df) for f in ("train", "val", "test"))
        opt = optim.Adam(self.model.parameters(), lr=self.args.lr)
        for epoch in range(self.args.epochs):
            self.model.train()
            losses = []
            for bx, by in train:
                pred, true = self.step(bx, by)
                loss = self.criterion(pred, true)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
            print(f"Epoch {epoch + 1} | train {np.mean(losses):.4f} | val {self.evaluate(val):.4f}")
        print(f"test mse {self.evaluate(test):.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--seq_len", type=int, default=48)
    p.add_argument("--label_len", type=int, default=24)
    p.add_argument("--pred_len", type=int, default=12)
    p.add_argument("--d_model", type=int, default=32)
    p.add_argument("--n_vars", type=int, default=3)
    p.add_argument("--batch_size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()
    torch.manual_seed(2021)
    rng = np.random.default_rng(2021)
    t = np.arange(1000)
    df = pd.DataFrame({c: np.sin(2 * np.pi * (t + s) / 24) + 0.1 * rng.normal(size=1000)
                       for c, s in (("north", 0), ("south", 6), ("total", 3))})
    Exp(args).train(df)
