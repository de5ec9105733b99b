import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class GhostBatchNorm(nn.Module):
    def __init__(self, dim, virtual_batch_size=64, momentum=0.02):
        super().__init__()
        self.virtual_batch_size = virtual_batch_size
        self.bn = nn.BatchNorm1d(dim, momentum=momentum)

    def forward(self, x):
        chunks = x.chunk(max(1, int(np.ceil(x.size(0) / self.virtual_batch_size))), dim=0)
        return torch.cat([self.bn(c) for c in chunks], dim=0)


class GLULayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = nn.Linear(n_in, 2 * n_out, bias=False)
        self.bn = GhostBatchNorm(2 * n_out)

    def forward(self, x):
        value, gate = self.bn(self.fc(x)).chunk(2, dim=1)
        return value * torch.sigmoid(gate)


class GLUBlock(nn.Module):
    def __init__(self, layers, first):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.first = first

    def forward(self, x):
        scale = 0.5 ** 0.5
        for i, layer in enumerate(self.layers):
            x = layer(x) if (i == 0 and self.first) else (x + layer(x)) * scale
        return x


class FeatureTransformer(nn.Module):
    def __init__(self, shared_layers, n_out, n_independent=2):
        super().__init__()
        self.shared = GLUBlock(shared_layers, first=True)
        self.specific = GLUBlock([GLULayer(n_out, n_out) for _ in range(n_independent)], first=False)

    def forward(self, x):
        return self.specific(self.shared(x))


class AttentiveTransformer(nn.Module):
    def __init__(self, n_in, n_features):
        super().__init__()
        self.fc = nn.Linear(n_in, n_features, bias=False)
        self.bn = GhostBatchNorm(n_features)

    def forward(self, prior, features):
        return F.softmax(self.bn(self.fc(features)) * prior, dim=-1)


class TabNet(nn.Module):
    def __init__(self, n_features, n_classes, n_d=8, n_a=8, n_steps=3, gamma=1.3, n_shared=2):
        super().__init__()
        self.n_d, self.gamma = n_d, gamma
        width = n_d + n_a
        self.initial_bn = nn.BatchNorm1d(n_features, momentum=0.01)
        shared = [GLULayer(n_features if i == 0 else width, width) for i in range(n_shared)]
        self.initial_splitter = FeatureTransformer(shared, width)
        self.feat_transformers = nn.ModuleList(FeatureTransformer(shared, width) for _ in range(n_steps))
        self.att_transformers = nn.ModuleList(AttentiveTransformer(n_a, n_features) for _ in range(n_steps))
        self.final = nn.Linear(n_d, n_classes, bias=False)

    def forward(self, x):
        x = self.initial_bn(x)
        prior = torch.ones_like(x)
        attention = self.initial_splitter(x)[:, self.n_d:]
        decision = 0
        for feat, att in zip(self.feat_transformers, self.att_transformers):
            mask = att(prior, attention)
            prior = prior * (self.gamma - mask)
            out = feat(mask * x)
            decision = decision + F.relu(out[:, :self.n_d])
            attention = out[:, self.n_d:]
        return self.final(decision)


def main(epochs=12):
    torch.manual_seed(0)
    X, y = make_classification(n_samples=2000, n_features=20, n_informative=8, n_classes=3,
                               n_clusters_per_class=2, random_state=0)
    X_train, X_val, y_train, y_val = train_test_split(X.astype("float32"), y, test_size=0.25, random_state=0)
    train = TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train))
    loader = DataLoader(train, batch_size=128, shuffle=True, drop_last=True)
    X_val, y_val = torch.from_numpy(X_val), torch.from_numpy(y_val)

    model = TabNet(n_features=20, n_classes=3)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            logits = model(X_val)
        print("epoch %2d  train loss %.4f  val loss %.4f  val acc %.3f" % (
            epoch, total / len(loader), F.cross_entropy(logits, y_val).item(),
            (logits.argmax(1) == y_val).float().mean().item()))


if __name__ == "__main__":
    main()
