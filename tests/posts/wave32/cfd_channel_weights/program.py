import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class FlowUNet(nn.Module):
    def __init__(self, cin=3, cout=3, w=16):
        super().__init__()
        self.e1 = conv(cin, w)
        self.e2 = conv(w, w * 2)
        self.pool = nn.MaxPool2d(2)
        self.mid = conv(w * 2, w * 2)
        self.up = nn.ConvTranspose2d(w * 2, w * 2, 2, 2)
        self.d1 = conv(w * 4, w)
        self.last = nn.Conv2d(w, cout, 1)

    def forward(self, x):
        a = self.e2(self.e1(x))
        b = self.up(self.mid(self.pool(a)))
        return self.last(self.d1(torch.cat([a, b], dim=1)))


def make_flows(n, h=40, w=20):
    """Channel flow around a box: (sdf, mask, sdf to the wall) -> (Ux, Uy, p)"""
    ys, xs = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
    x, y = torch.zeros(n, 3, h, w), torch.zeros(n, 3, h, w)
    for i in range(n):
        cy, cx = torch.randint(8, h - 8, (1,)).item(), torch.randint(5, w - 5, (1,)).item()
        r = 2 + 2 * torch.rand(1).item()
        speed = math.exp(0.4 * torch.randn(1).item())
        dist = torch.sqrt((ys - cy) ** 2 + (xs - cx) ** 2) - r
        x[i, 0], x[i, 1] = dist * speed, (dist < 0).float()
        x[i, 2] = torch.minimum(xs, w - 1 - xs)
        free = (dist > 0).float()
        y[i, 0] = speed * free * (1 - torch.exp(-dist.clamp(min=0) / 4)) * x[i, 2] / w
        y[i, 1] = 0.1 * speed * free * torch.sign(xs - cx) * torch.exp(-dist.clamp(min=0) / 3)
        y[i, 2] = 0.5 * speed ** 2 * torch.exp(-dist.abs() / 5)
    return x, y


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = make_flows(160)
    n_train = int(len(x) * 0.7)
    channels_weights = torch.sqrt(torch.mean(y.permute(0, 2, 3, 1).reshape(-1, 3) ** 2, dim=0))
    channels_weights = channels_weights.view(1, -1, 1, 1).to(device)

    train_loader = DataLoader(TensorDataset(x[:n_train], y[:n_train]), batch_size=16, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[n_train:], y[n_train:]), batch_size=16)

    model = FlowUNet().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=5e-3)

    def loss_func(out, target):
        lossu = (out[:, 0] - target[:, 0]) ** 2
        lossv = (out[:, 1] - target[:, 1]) ** 2
        lossp = (out[:, 2] - target[:, 2]).abs()
        loss = torch.stack([lossu, lossv, lossp], dim=1) / channels_weights
        return loss.sum()

    best = float("inf")
    for epoch in range(4):
        model.train()
        train_loss = 0.0
        for xb, yb in train_loader:
            loss = loss_func(model(xb.to(device)), yb.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        test_loss = 0.0
        with torch.no_grad():
            for xb, yb in test_loader:
                test_loss += loss_func(model(xb.to(device)), yb.to(device)).item()
        best = min(best, test_loss)
        print("epoch %d train %.3f test %.3f" % (epoch, train_loss / n_train, test_loss / (len(x) - n_train)))
    print("best test loss", best / (len(x) - n_train))


if __name__ == "__main__":
    main()
