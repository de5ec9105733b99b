import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def render_scene(rng, size=48):
    yy, xx = np.mgrid[0:size, 0:size] / size
    slope = rng.uniform(-1, 1, 2)
    depth = 4 + slope[0] * xx + slope[1] * yy + rng.normal(0, 0.02, (size, size))
    shade = 1 - depth / 8
    rgb = np.stack([shade, shade ** 2, np.sqrt(shade)]).astype("float32")
    return rgb, depth.astype("float32")


def load_split(n=80, seed=0):
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(n):
        rgb, depth = render_scene(rng)
        if rng.random() < 0.08:
            top, left = rng.integers(0, 40, 2)
            depth[top:top + 6, left:left + 6] = np.nan
        samples.append((rgb, depth))
    return samples


class DepthDataset(Dataset):
    def __init__(self, samples, max_depth=8.0):
        self.samples = [s for s in samples if not np.isnan(s[1]).any()]
        self.max_depth = max_depth

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        rgb, depth = self.samples[index]
        depth = np.clip(depth, 0, self.max_depth) / self.max_depth * 2 - 1
        return {"rgb": torch.from_numpy(rgb), "depth": torch.from_numpy(depth).unsqueeze(0)}


class DepthUNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.SiLU())
        self.down2 = nn.Sequential(nn.Conv2d(width, width * 2, 3, stride=2, padding=1), nn.SiLU())
        self.mid = nn.Sequential(nn.Conv2d(width * 2, width * 2, 3, padding=1), nn.SiLU())
        self.up = nn.ConvTranspose2d(width * 2, width, 2, stride=2)
        self.out = nn.Conv2d(width * 2, 1, 3, padding=1)

    def forward(self, x):
        skip = self.down1(x)
        x = self.mid(self.down2(skip))
        x = self.up(x)
        return self.out(torch.cat([x, skip], dim=1))


class Trainer:
    def __init__(self, model, loader, lr=1e-3):
        self.model = model
        self.loader = loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.MSELoss()

    def train(self, max_epoch):
        for epoch in range(1, max_epoch + 1):
            losses = []
            for batch in self.loader:
                pred = self.model(batch["rgb"])
                loss = self.loss(pred, batch["depth"])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            print(f"epoch {epoch}: loss={np.mean(losses):.5f}")


def main():
    torch.manual_seed(0)
    dataset = DepthDataset(load_split())
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    Trainer(DepthUNet(), loader, lr=1e-3).train(max_epoch=4)


if __name__ == "__main__":
    main()
