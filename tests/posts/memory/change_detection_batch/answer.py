import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n=640, size=256):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        before = torch.rand(3, self.size, self.size)
        after = torch.rand(3, self.size, self.size)
        change = (torch.rand(1, self.size, self.size) > 0.9).float()
        return before, after, change


def block(cin, cout, n):
    layers = []
    for i in range(n):
        layers += [nn.Conv2d(cin if i == 0 else cout, cout, 3, padding=1),
                   nn.BatchNorm2d(cout), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class ChangeNet(nn.Module):
    def __init__(self, widths=(56, 112, 224, 448)):
        super().__init__()
        depths = (2, 2, 2, 2)
        ins = (3,) + widths[:-1]
        self.encoder = nn.ModuleList([block(a, b, d) for a, b, d in zip(ins, widths, depths)])
        self.fuse = nn.ModuleList([block(2 * w, w, 1) for w in widths])
        self.up = nn.ModuleList([block(widths[i] + widths[i + 1], widths[i], 1) for i in range(3)])
        self.heads = nn.ModuleList([nn.Conv2d(w, 1, 1) for w in widths])

    def encode(self, x):
        feats = []
        for i, stage in enumerate(self.encoder):
            x = stage(x if i == 0 else F.max_pool2d(x, 2))
            feats.append(x)
        return feats

    def forward(self, before, after):
        pairs = zip(self.encode(before), self.encode(after))
        feats = [f(torch.cat(p, dim=1)) for f, p in zip(self.fuse, pairs)]
        x = feats[-1]
        outs = [self.heads[-1](x)]
        for i in (2, 1, 0):
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            x = self.up[i](torch.cat([x, feats[i]], dim=1))
            outs.append(self.heads[i](x))
        return outs


def deep_loss(outs, change):
    loss = 0
    for out in outs:
        out = F.interpolate(out, size=change.shape[2:], mode="bilinear", align_corners=False)
        loss = loss + F.binary_cross_entropy_with_logits(out, change)
    return loss


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch_size = 16
loader = DataLoader(Pairs(), batch_size=batch_size, shuffle=True, drop_last=True)
model = ChangeNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
for epoch in range(20):
    for before, after, change in loader:
        before, after, change = before.to(device), after.to(device), change.to(device)
        outs = model(before, after)
        loss = deep_loss(outs, change)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
