import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TwoViews(Dataset):
    def __init__(self, n, noise=0.3):
        self.base = torch.rand(n, 3, 16, 16)
        self.noise = noise

    def augment(self, img):
        if torch.rand(1).item() < 0.5:
            img = img.flip(-1)
        scale = 0.8 + 0.4 * torch.rand(3, 1, 1)
        return img * scale + self.noise * torch.randn_like(img)

    def __len__(self):
        return self.base.size(0)

    def __getitem__(self, i):
        return self.augment(self.base[i]), self.augment(self.base[i])


class SimSiam(nn.Module):
    def __init__(self, dim=64, pred_dim=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(32, dim), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim),
        )
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False), nn.BatchNorm1d(pred_dim), nn.ReLU(),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def simsiam_loss(p1, p2, z1, z2):
    return -0.5 * (
        F.cosine_similarity(p1, z2, dim=1).mean() + F.cosine_similarity(p2, z1, dim=1).mean()
    )


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = TwoViews(256)
    loader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True)
    model = SimSiam().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(6):
        model.train()
        for x1, x2 in loader:
            p1, p2, z1, z2 = model(x1.to(device), x2.to(device))
            loss = simsiam_loss(p1, p2, z1, z2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            z = F.normalize(model.encoder(dataset.base.to(device)), dim=1)
        print(f"epoch {epoch} loss {loss.item():.4f} spread {z.std(dim=0).mean().item():.4f}")


if __name__ == "__main__":
    main()
