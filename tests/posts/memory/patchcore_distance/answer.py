import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CORESET_RATIO = 0.001


class Bottles(Dataset):
    def __init__(self, n, size=224):
        self.n = n
        self.size = size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.rand(3, self.size, self.size)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 8, stride=4, padding=2), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(64, 512, 3, stride=2, padding=1), nn.ReLU())
        self.layer3 = nn.Sequential(nn.Conv2d(512, 1024, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, x):
        a = self.layer2(self.stem(x))
        b = F.interpolate(self.layer3(a), size=a.shape[2:])
        return torch.cat([a, b], dim=1).flatten(2).transpose(1, 2).flatten(0, 1)


def distance_matrix(x, y, p=2):
    n, m, d = x.size(0), y.size(0), x.size(1)
    x = x.unsqueeze(1).expand(n, m, d)
    y = y.unsqueeze(0).expand(n, m, d)
    return torch.pow(x - y, p).sum(2)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Features().to(device).eval()
with torch.no_grad():
    bank = []
    for images in DataLoader(Bottles(209), batch_size=11):
        bank.append(model(images.to(device)).cpu())
    bank = torch.cat(bank)
    keep = torch.randperm(len(bank))[:int(len(bank) * CORESET_RATIO)]
    coreset = bank[keep].to(device)
    scores = []
    for image in DataLoader(Bottles(83), batch_size=1):
        patches = model(image.to(device))
        distances = distance_matrix(patches, coreset).sqrt()
        scores.append(distances.min(dim=1).values.max().item())
print("highest score of anomaly", max(scores))
