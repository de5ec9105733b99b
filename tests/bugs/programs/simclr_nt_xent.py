import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self, dim=16, temperature=0.5):
        super().__init__()
        self.temperature = temperature
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 12, 4, stride=4),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.projection = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, dim))

    def info_nce(self, z):
        n = z.size(0) // 2
        labels = torch.cat([torch.arange(n) for _ in range(2)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float().to(z.device)
        z = F.normalize(z, dim=1)
        sim = torch.matmul(z, z.T)
        mask = torch.eye(2 * n, dtype=torch.bool, device=z.device)
        labels = labels[~mask].view(2 * n, -1)
        sim = sim[~mask].view(2 * n, -1)
        positives = sim[labels.bool()].view(2 * n, -1)
        negatives = sim[~labels.bool()].view(2 * n, -1)
        logits = torch.cat([positives, negatives], dim=1) / self.temperature
        target = torch.zeros(2 * n, dtype=torch.long, device=z.device)
        return F.cross_entropy(logits, target), logits


class Model(SimCLR):
    def forward(self, view1, view2):
        images = torch.cat([view1, view2], dim=0)
        return self.info_nce(self.projection(self.encoder(images)))


def example_inputs():
    return torch.rand(6, 3, 16, 16), torch.rand(6, 3, 16, 16)
