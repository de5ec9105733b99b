import argparse
import os
import pickle
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Normalizer(object):
    """Standardizes the columns of a frame; keeps the statistics it has seen first."""

    def __init__(self, mean=None, std=None):
        self.mean = mean
        self.std = std

    def normalize(self, df):
        if self.mean is None:
            self.mean = df.mean()
            self.std = df.std()
        return (df - self.mean) / (self.std + np.finfo(float).eps)


SENSORS = ["acc_x", "acc_y", "acc_z", "gyr_x", "gyr_y", "gyr_z"]
SEQ_LEN = 32


def recording(n, activities, seed):
    """Long frame of n windows, and the activity of every window."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(activities, size=n)
    t = np.arange(SEQ_LEN)
    frames = []
    for i, act in enumerate(labels):
        level = 1.5 * act
        wave = np.sin(2 * np.pi * t / 16 + rng.uniform(0, 6.3))
        cols = {s: level * (1 if k % 2 else -1) + wave * 0.5 + rng.normal(0, 0.6, SEQ_LEN)
                for k, s in enumerate(SENSORS)}
        frames.append(pd.DataFrame(cols, index=[i] * SEQ_LEN))
    return pd.concat(frames), labels


class TSTransformer(nn.Module):
    def __init__(self, feat_dim, num_classes, d_model=32):
        super().__init__()
        self.project_inp = nn.Linear(feat_dim, d_model)
        self.pos = nn.Parameter(torch.empty(SEQ_LEN, d_model).uniform_(-0.02, 0.02))
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.output_layer = nn.Linear(SEQ_LEN * d_model, num_classes)

    def forward(self, x):
        x = self.encoder(self.project_inp(x) + self.pos)
        return self.output_layer(x.flatten(1))


def to_loader(df, labels, shuffle):
    x = torch.tensor(df[SENSORS].values.reshape(-1, SEQ_LEN, len(SENSORS)), dtype=torch.float32)
    return DataLoader(TensorDataset(x, torch.tensor(labels)), batch_size=32, shuffle=shuffle)


def run_training(folder):
    df, labels = recording(480, [0, 1, 2, 3], seed=0)
    normalizer = Normalizer()
    df = normalizer.normalize(df)
    with open(os.path.join(folder, "normalization.pickle"), "wb") as f:
        pickle.dump({"mean": normalizer.mean, "std": normalizer.std}, f)

    model = TSTransformer(len(SENSORS), 4)
    optimizer = torch.optim.RAdam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        for x, y in to_loader(df, labels, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 4.0)
            optimizer.step()
        print("epoch %d loss %.4f" % (epoch + 1, loss.item()))
    torch.save(model.state_dict(), os.path.join(folder, "model_best.pth"))


def run_test_only(folder, args):
    # recordings of the new subject
    df, labels = recording(120, [2, 3], seed=9)
    norm_dict = {}
    if args.norm_from:
        with open(os.path.join(folder, args.norm_from), "rb") as f:
            norm_dict = pickle.load(f)
    df = Normalizer(**norm_dict).normalize(df)

    model = TSTransformer(len(SENSORS), 4)
    model.load_state_dict(torch.load(os.path.join(folder, "model_best.pth")))
    model.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x).argmax(1) for x, _ in to_loader(df, labels, shuffle=False)]).numpy()
    print(pd.crosstab(labels, predictions, rownames=["true"], colnames=["predicted"]))
    print("test accuracy %.3f" % (predictions == labels).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--norm_from", default=None, help="pickle with mean and std, inside the experiment folder")
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as experiment:
        run_training(experiment)
        run_test_only(experiment, args)
