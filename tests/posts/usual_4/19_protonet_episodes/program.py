"""Prototypical network on synthetic glyphs (Omniglot protocol: 5-way, 3-shot)."""
import logging
from argparse import Namespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

logging.basicConfig(level=logging.INFO, format="%(levelname)s | %(message)s")
log = logging.getLogger("proto")

cfg = Namespace(n_way=5, k_shot=3, n_query=5, n_classes=40, per_class=20, img=20,
                train_episodes=40, test_episodes=20, epochs=2, lr=1e-3, seed=10)


class Glyphs(Dataset):
    def __init__(self, class_ids, per_class, img, rng):
        self.x, self.labels = [], []
        for c in class_ids:
            proto = np.kron(rng.random((5, 5)) > 0.6, np.ones((img // 5, img // 5)))
            for _ in range(per_class):
                shift = rng.integers(-2, 3, 2)
                g = np.roll(proto, tuple(shift), axis=(0, 1)) + rng.normal(0, 0.25, (img, img))
                self.x.append(g[None].astype(np.float32))
                self.labels.append(c)
        self.labels = np.array(self.labels)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.labels[i])


class EpisodeSampler(Sampler):
    """yields the indices of n_way * (k_shot + n_query) images, class after class"""

    def __init__(self, labels, n_way, n_images, n_episodes):
        self.groups = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
        self.n_way, self.n_images, self.n_episodes = n_way, n_images, n_episodes

    def __len__(self):
        return self.n_episodes

    def __iter__(self):
        classes = list(self.groups)
        for _ in range(self.n_episodes):
            chosen = np.random.choice(classes, self.n_way, replace=False)
            yield [int(i) for c in chosen for i in np.random.choice(self.groups[c], self.n_images, replace=False)]


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class Encoder(nn.Module):
    def __init__(self, hid=32):
        super().__init__()
        self.net = nn.Sequential(conv_block(1, hid), conv_block(hid, hid), conv_block(hid, hid), nn.Flatten())

    def forward(self, x):
        return self.net(x)


def split_episode(x, y):
    n = cfg.k_shot + cfg.n_query
    x = x.view(cfg.n_way, n, *x.shape[1:])
    y = y.view(cfg.n_way, n)
    support, query = x[:, :cfg.k_shot], x[:, cfg.k_shot:]
    return support.flatten(0, 1), query.flatten(0, 1), y[:, cfg.k_shot:].flatten()


def episode_loss(model, x, y):
    xs, xq, target = split_episode(x, y)
    z = model(torch.cat([xs, xq]))
    prototypes = z[: len(xs)].view(cfg.n_way, cfg.k_shot, -1).mean(1)
    dists = torch.cdist(z[len(xs):], prototypes).pow(2)
    logits = -dists
    loss = F.cross_entropy(logits, target)
    acc = (logits.argmax(1) == target).float().mean()
    return loss, acc


def main():
    np.random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    ids = rng.permutation(cfg.n_classes)
    n_images = cfg.k_shot + cfg.n_query
    loaders = {}
    for name, part, eps in (("train", ids[:30], cfg.train_episodes), ("test", ids[30:], cfg.test_episodes)):
        ds = Glyphs(part, cfg.per_class, cfg.img, rng)
        loaders[name] = DataLoader(ds, batch_sampler=EpisodeSampler(ds.labels, cfg.n_way, n_images, eps))

    model = Encoder()
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in loaders["train"]:
            loss, _ = episode_loss(model, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            accs = [episode_loss(model, x, y)[1].item() for x, y in loaders["test"]]
        log.info("epoch %d loss %.3f, accuracy on new classes %.3f", epoch, loss.item(), np.mean(accs))


if __name__ == "__main__":
    main()
