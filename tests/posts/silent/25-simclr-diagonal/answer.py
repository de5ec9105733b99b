import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, n=256):
        self.x = torch.randn(n, 3, 12, 12)

    def __len__(self):
        return len(self.x)

    def augment(self, img):
        if torch.rand(1).item() < 0.5:
            img = img.flip(-1)
        return img + 0.2 * torch.randn_like(img)

    def __getitem__(self, i):
        return self.augment(self.x[i]), self.augment(self.x[i])


class SimCLR(nn.Module):
    def __init__(self, out_dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
        )
        self.projector = nn.Sequential(nn.Linear(32 * 9, 64), nn.ReLU(), nn.Linear(64, out_dim))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = torch.cat([z1, z2], dim=0)
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)]).to(z.device)
    return F.cross_entropy(sim, targets)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TwoViews(), batch_size=64, shuffle=True, drop_last=True)
    model = SimCLR()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=5)
    for epoch in range(5):
        model.train()
        losses = []
        for v1, v2 in loader:
            loss = nt_xent(model(v1), model(v2))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        sched.step()
        print(f"epoch {epoch}: nt-xent {sum(losses) / len(losses):.4f}")
