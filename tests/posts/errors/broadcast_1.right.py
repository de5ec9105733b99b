# line 15: the per-channel statistics of shape (3,) are subtracted from NCHW images; mended by: reshaping mean and std to (3, 1, 1)
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


class Normalize(nn.Module):
    """Normalisation as part of the exported model."""

    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, img):
        return (img / 255.0 - self.mean) / self.std


class TinyQualityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Normalize(MEAN, STD)
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=2), nn.GELU(),
            nn.Conv2d(8, 16, 3, stride=2), nn.GELU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.score = nn.Linear(16, 1)

    def forward(self, img):
        return self.score(self.body(self.norm(img.float()))).squeeze(1)


def make_loader(n=40):
    g = torch.Generator().manual_seed(5)
    imgs = torch.randint(0, 256, (n, 3, 48, 48), generator=g, dtype=torch.uint8)
    mos = imgs.float().std(dim=(1, 2, 3)) / 20
    return DataLoader(TensorDataset(imgs, mos), batch_size=8, shuffle=True)


def fit(model, loader, epochs):
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for ep in range(epochs):
        running = 0.0
        for img, mos in loader:
            loss = nn.functional.smooth_l1_loss(model(img), mos)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            running += loss.item()
        print(f"[{ep}] {running / len(loader):.4f}")


if __name__ == "__main__":
    fit(TinyQualityNet(), make_loader(), epochs=2)
