import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

# compositional zero-shot recognition: attribute + object, on stored resnet features
ATTRS = ["wet", "dry", "old", "rusty", "sliced", "ripe"]
OBJS = ["apple", "car", "dog", "street", "tomato"]
FEAT_DIM = 512


def dump_features(path, n=600):
    """what the backbone gives after its last average pooling, stored once for all epochs"""
    gen = torch.Generator().manual_seed(3)
    attr_proto = torch.randn(len(ATTRS), FEAT_DIM, generator=gen)
    obj_proto = torch.randn(len(OBJS), FEAT_DIM, generator=gen)
    attr = torch.randint(0, len(ATTRS), (n,), generator=gen)
    obj = torch.randint(0, len(OBJS), (n,), generator=gen)
    maps = attr_proto[attr] + obj_proto[obj]
    maps = maps[:, :, None, None] + torch.randn(n, FEAT_DIM, 7, 7, generator=gen)
    pooled = F.adaptive_avg_pool2d(F.relu(maps), 1)
    torch.save({"features": pooled, "attr": attr, "obj": obj}, path)


class PairDataset(Dataset):
    def __init__(self, path, keep):
        stored = torch.load(path)
        index = torch.from_numpy(keep)
        self.features = stored["features"][index]
        self.attr = stored["attr"][index]
        self.obj = stored["obj"][index]

    def __len__(self):
        return len(self.features)

    def __getitem__(self, i):
        return self.features[i], self.attr[i], self.obj[i]


class MLP(nn.Module):
    def __init__(self, inp_dim, out_dim, hidden=512, dropout=0.3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inp_dim, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(hidden, out_dim),
        )

    def forward(self, x):
        return self.net(x)


class ConditionalNet(nn.Module):
    def __init__(self, emb_dim=64, temperature=0.05):
        super().__init__()
        self.temperature = temperature
        self.image_attr = MLP(FEAT_DIM, emb_dim)
        self.image_obj = MLP(FEAT_DIM, emb_dim)
        self.attr_emb = nn.Embedding(len(ATTRS), emb_dim)
        self.obj_emb = nn.Embedding(len(OBJS), emb_dim)

    def scores(self, v, table):
        v = F.normalize(v, dim=-1)
        return v @ F.normalize(table.weight, dim=-1).t() / self.temperature

    def forward(self, x):
        return self.scores(self.image_attr(x), self.attr_emb), self.scores(self.image_obj(x), self.obj_emb)


def main():
    torch.manual_seed(0)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "resnet18_features.t7")
    dump_features(path)

    order = np.random.default_rng(0).permutation(600)
    train = DataLoader(PairDataset(path, order[:500]), batch_size=50, shuffle=True)
    val = DataLoader(PairDataset(path, order[500:]), batch_size=50)

    net = ConditionalNet()
    optim = torch.optim.Adam(net.parameters(), lr=5e-4)
    for epoch in range(4):
        net.train()
        for feats, attr, obj in train:
            a, o = net(feats)
            loss = F.cross_entropy(a, attr) + F.cross_entropy(o, obj)
            optim.zero_grad()
            loss.backward()
            optim.step()
        net.eval()
        hits = 0
        with torch.no_grad():
            for feats, attr, obj in val:
                a, o = net(feats)
                hits += ((a.argmax(1) == attr) & (o.argmax(1) == obj)).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} pairs right {hits / 100:.2f}")


if __name__ == "__main__":
    main()
