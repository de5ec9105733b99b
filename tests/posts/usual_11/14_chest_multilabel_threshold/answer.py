"""Multi-label findings on chest films. DenseNet, BCE with positive weights, micro/macro F1."""
import logging

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import DenseNet

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("cxr")

FINDINGS = ["atelectasis", "effusion", "nodule", "cardiomegaly"]


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.random((n, len(FINDINGS))) < np.array([0.5, 0.4, 0.45, 0.35])
    df = pd.DataFrame(labels.astype(int), columns=FINDINGS)
    df.insert(0, "image_id", [f"{seed}_{i:05d}" for i in range(n)])
    return df


class CXRDataset(Dataset):
    def __init__(self, df):
        self.df = df.reset_index(drop=True)
        self.labels = np.array(self.df[FINDINGS], dtype=np.float32)

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        rng = np.random.default_rng(int(self.df.image_id[i].replace("_", "")))
        img = rng.normal(0, 1.0, (1, 48, 48)).astype(np.float32)
        y = self.labels[i]
        for k, on in enumerate(y):
            if on:
                r, c = divmod(k, 2)
                img[0, 24 * r + 6:24 * r + 18, 24 * c + 6:24 * c + 18] += 0.4
        return torch.from_numpy(img), torch.from_numpy(y)


def build_model(n_out):
    net = DenseNet(growth_rate=8, block_config=(2, 2, 2), num_init_features=16, num_classes=n_out)
    net.features.conv0 = nn.Conv2d(1, 16, kernel_size=7, stride=2, padding=3, bias=False)
    return net


def f1_scores(pred, true):
    tp = (pred & true).sum(0).astype(float)
    fp = (pred & ~true).sum(0)
    fn = (~pred & true).sum(0)
    per_class = 2 * tp / np.maximum(2 * tp + fp + fn, 1)
    micro = 2 * tp.sum() / max(2 * tp.sum() + fp.sum() + fn.sum(), 1)
    return micro, per_class.mean(), per_class


class Trainer:
    def __init__(self, model, train_df, valid_df, lr=2e-3, batch_size=32):
        self.model = model
        self.train_loader = DataLoader(CXRDataset(train_df), batch_size, shuffle=True)
        self.valid_loader = DataLoader(CXRDataset(valid_df), batch_size)
        pos = train_df[FINDINGS].mean().to_numpy()
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((1 - pos) / pos, dtype=torch.float32))
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(x)
        return total / len(self.train_loader.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        outputs, targets = [], []
        for x, y in self.valid_loader:
            outputs.append(self.model(x))
            targets.append(y)
        outputs = torch.cat(outputs)
        targets = torch.cat(targets).bool()
        preds = torch.sigmoid(outputs) > 0.5
        return f1_scores(preds.numpy(), targets.numpy())

    def fit(self, epochs):
        for e in range(epochs):
            loss = self.train_epoch()
            micro, macro, per_class = self.validate()
            detail = " ".join(f"{n}={v:.2f}" for n, v in zip(FINDINGS, per_class))
            log.info("epoch %d loss %.4f micro-F1 %.4f macro-F1 %.4f | %s", e, loss, micro, macro, detail)


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer(build_model(len(FINDINGS)), make_table(320, 1), make_table(128, 2))
    trainer.fit(epochs=3)
