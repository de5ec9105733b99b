# line 41: prepare fits the whitening of the features again when it is called for the test split
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(71)


class Whitening:
    def __init__(self, keep):
        self.keep = keep

    def fit_transform(self, rows):
        self.centre = rows.mean(0)
        _, s, v = torch.linalg.svd(rows - self.centre, full_matrices=False)
        self.map = v[: self.keep].T / s[: self.keep] * len(rows) ** 0.5
        return self.transform(rows)

    def transform(self, rows):
        return (rows - self.centre) @ self.map


class Pipeline:
    def __init__(self, keep, classes):
        self.whiten = Whitening(keep)
        self.net = nn.Sequential(nn.Linear(keep, 24), nn.ReLU(), nn.Linear(24, classes))

    def train(self, train_features, labels, epochs=6):
        x = self.whiten.fit_transform(train_features)
        opt = torch.optim.Adam(self.net.parameters(), lr=0.01)
        self.net.train()
        for _ in range(epochs):
            for a, b in DataLoader(TensorDataset(x, labels), 30, shuffle=True):
                opt.zero_grad()
                nn.functional.cross_entropy(self.net(a), b).backward()
                opt.step()

    @torch.no_grad()
    def test(self, test_features, labels):
        self.net.eval()
        x = self.whiten.fit_transform(test_features)
        return (self.net(x).argmax(1) == labels).sum().item() / len(labels)


mix = torch.randn(6, 15)
hidden = torch.randn(360, 6)
labels = hidden[:, :3].argmax(1)
features = hidden @ mix + 0.1 * torch.randn(360, 15)
pipeline = Pipeline(6, 3)
pipeline.train(features[:300], labels[:300])
print("test accuracy", pipeline.test(features[300:], labels[300:]))
