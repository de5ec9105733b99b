import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class cfg:
    batch_size = 4
    num_workers = 0
    image_hw = (48, 48)
    n_samples = 16
    lr = 5e-4
    max_iter = 6


class HumanFrames(Dataset):
    """Rays through the subject's bounding box, one item per frame."""

    def __init__(self, n_frames):
        gen = torch.Generator().manual_seed(11)
        h, w = cfg.image_hw
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        self.dirs = torch.stack([xs, -ys, torch.ones_like(xs)], dim=-1)
        self.images = torch.rand(n_frames, h, w, 3, generator=gen)
        self.poses = torch.randn(n_frames, 23 * 3, generator=gen) * 0.1
        self.boxes = 0.4 + 0.5 * torch.rand(n_frames, 2, generator=gen)

    def __len__(self):
        return self.images.shape[0]

    def __getitem__(self, idx):
        half = self.boxes[idx]
        hit = (self.dirs[..., 0].abs() < half[0]) & (self.dirs[..., 1].abs() < half[1])
        d = self.dirs[hit]
        o = torch.zeros_like(d)
        o[:, 2] = -2.0
        rgb = self.images[idx][hit]
        return {
            "rays": torch.stack([o, d], dim=0),
            "near": torch.full((d.shape[0], 1), 0.5),
            "far": torch.full((d.shape[0], 1), 3.5),
            "target_rgbs": rgb,
            "posevec": self.poses[idx],
        }


class HumanNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.pose = nn.Linear(69, 16)
        self.mlp = nn.Sequential(
            nn.Linear(3 + 16, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 4),
        )

    def forward(self, rays, near, far, posevec):
        o, d = rays
        t = torch.linspace(0, 1, cfg.n_samples)
        z = near * (1 - t) + far * t
        pts = o[:, None] + d[:, None] * z[..., None]
        cond = self.pose(posevec).expand(pts.shape[0], pts.shape[1], 16)
        raw = self.mlp(torch.cat([pts, cond], dim=-1))
        delta = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(near, 1e10)], dim=-1)
        alpha = 1 - torch.exp(-torch.relu(raw[..., 3]) * delta)
        trans = torch.cumprod(torch.cat([torch.ones_like(near), 1 - alpha + 1e-10], dim=-1), dim=-1)[:, :-1]
        weights = alpha * trans
        return (weights[..., None] * torch.sigmoid(raw[..., :3])).sum(dim=1)


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
        self.iter = 0

    def train(self, loader):
        while self.iter < cfg.max_iter:
            for batch in loader:
                if self.iter >= cfg.max_iter:
                    break
                data = {k: v[0] for k, v in batch.items()}
                rgb = self.net(data["rays"], data["near"], data["far"], data["posevec"])
                loss = torch.mean((rgb - data["target_rgbs"]) ** 2)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.iter += 1
                print(f"iter {self.iter} rays {rgb.shape[0]} mse {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(HumanFrames(20), batch_size=cfg.batch_size, shuffle=True,
                        num_workers=cfg.num_workers)
    Trainer(HumanNet()).train(loader)


if __name__ == "__main__":
    main()
