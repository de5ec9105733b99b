import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, n=256, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.pose = torch.rand(n, 3, generator=g) * 2 - 1
        lin = torch.linspace(-1, 1, size)
        yy, xx = torch.meshgrid(lin, lin, indexing='ij')
        y, p, r = (self.pose[:, i].view(-1, 1, 1) for i in range(3))
        img = torch.stack([torch.exp(-((xx - y) ** 2 + (yy - p) ** 2) * 4),
                           torch.cos(3 * (xx * torch.cos(r) + yy * torch.sin(r))),
                           torch.sin(3 * xx * y + 3 * yy * p)], dim=1)
        self.img = img + 0.05 * torch.randn(img.shape, generator=g)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.pose[i] * 90


class MultiStream(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        def stream(act):
            return nn.ModuleList([
                nn.Sequential(nn.Conv2d(3, ch, 3, 2, 1), nn.BatchNorm2d(ch), act()),
                nn.Sequential(nn.Conv2d(ch, ch, 3, 2, 1), nn.BatchNorm2d(ch), act()),
                nn.Sequential(nn.Conv2d(ch, ch, 3, 1, 1), nn.BatchNorm2d(ch), act())])
        self.a = stream(nn.ReLU)
        self.b = stream(nn.Tanh)
        self.pool = nn.AdaptiveAvgPool2d(8)

    def forward(self, x):
        outs, a, b = [], x, x
        for la, lb in zip(self.a, self.b):
            a, b = la(a), lb(b)
            outs.append(self.pool(a * b))
        return outs


class FineGrainedMapping(nn.Module):
    def __init__(self, ch=32, cells=64 * 3, rows=7):
        super().__init__()
        self.scores = nn.ModuleList(nn.Conv2d(ch, 1, 1) for _ in range(3))
        self.rows = nn.ModuleList(nn.Linear(64, rows * cells) for _ in range(3))
        self.n_rows, self.cells = rows, cells

    def forward(self, maps):
        b, ch, h, w = maps[0].shape
        flat = torch.cat([m.view(b, h * w, ch) for m in maps], dim=1)
        primes = []
        for m, conv, lin in zip(maps, self.scores, self.rows):
            attention = torch.sigmoid(conv(m)).flatten(1)
            s = torch.sigmoid(lin(attention)).view(b, self.n_rows, self.cells)
            s = s / s.sum(-1, keepdim=True)
            primes.append(torch.bmm(s, flat))
        return torch.cat(primes, dim=1)


class PoseNet(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.streams = MultiStream(ch)
        self.mapping = FineGrainedMapping(ch)
        self.head = nn.Sequential(nn.Linear(ch, 32), nn.ReLU())
        self.out = nn.Linear(32 * 21, 3)

    def forward(self, x):
        caps = self.mapping(self.streams(x))
        return self.out(self.head(caps).flatten(1)) * 30


def main(epochs=4):
    torch.manual_seed(0)
    train_loader = DataLoader(Faces(), batch_size=16, shuffle=True)
    val_loader = DataLoader(Faces(64, seed=1), batch_size=16)
    model = PoseNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.L1Loss()
    for epoch in range(epochs):
        model.train()
        for img, pose in train_loader:
            loss = criterion(model(img), pose)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            mae = sum(criterion(model(img), pose).item() for img, pose in val_loader) / len(val_loader)
        print(f'epoch {epoch} train {loss.item():.2f} val MAE {mae:.2f} degrees')


if __name__ == '__main__':
    main()
