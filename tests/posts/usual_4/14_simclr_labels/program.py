import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import models
from torchvision.transforms import v2


class CFG:
    n_images = 128
    batch_size = 32
    proj_dim = 64
    temperature = 0.2
    epochs = 2
    lr = 3e-4


torch.manual_seed(2024)

augment = v2.Compose([
    v2.RandomResizedCrop(32, scale=(0.4, 1.0), antialias=True),
    v2.RandomHorizontalFlip(),
    v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]),
])


class TwoViews(Dataset):
    def __init__(self, images, transform):
        self.images, self.transform = images, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(self.images[i]), self.transform(self.images[i])


class SimCLR(nn.Module):
    def __init__(self, proj_dim):
        super().__init__()
        self.encoder = models.resnet18(weights=None)
        dim = self.encoder.fc.in_features
        self.encoder.fc = nn.Identity()
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, proj_dim))

    def forward(self, x):
        h = self.encoder(x)
        return h, self.projector(h)


def info_nce(z, n, temperature):
    """z holds view 1 of the n images followed by view 2 of the n images."""
    z = F.normalize(z, dim=1)
    sim = z @ z.T / temperature
    sim.fill_diagonal_(float("-inf"))
    labels = torch.arange(n, device=z.device) + n
    return F.cross_entropy(sim, labels)


def blobs(n):
    base = torch.randint(0, 256, (n, 3, 5, 5)).float()
    return F.interpolate(base, size=(40, 40), mode="bicubic").clamp(0, 255).to(torch.uint8)


if __name__ == "__main__":
    loader = DataLoader(TwoViews(blobs(CFG.n_images), augment), batch_size=CFG.batch_size,
                        shuffle=True, drop_last=True)
    model = SimCLR(CFG.proj_dim)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=CFG.epochs * len(loader))

    model.train()
    for epoch in range(CFG.epochs):
        losses = []
        for v1, v2_ in loader:
            x = torch.cat([v1, v2_], dim=0)
            _, z = model(x)
            loss = info_nce(z, v1.size(0), CFG.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: NT-Xent {sum(losses) / len(losses):.4f}")
