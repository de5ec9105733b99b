import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
from torchvision.models import resnet18

torch.manual_seed(0)
np.random.seed(0)


class ProductImages(Dataset):
    """Catalogue photos with two targets: category and price bucket."""

    def __init__(self, n, size=48):
        self.cat = np.random.randint(0, 4, n)
        self.price = np.random.randint(0, 3, n)
        self.size = size

    def __len__(self):
        return len(self.cat)

    def __getitem__(self, i):
        img = torch.randn(3, self.size, self.size) * 0.3
        img[self.cat[i] % 3] += 0.5
        img[:, :8 * (self.price[i] + 1)] += 0.5
        return img, {'category': int(self.cat[i]), 'price': int(self.price[i])}


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        backbone = resnet18(weights=None)
        dim = backbone.fc.in_features
        backbone.fc = nn.Identity()
        self.backbone = backbone
        self.neck = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2))
        self.heads = nn.ModuleDict({
            'category': nn.Linear(64, 4),
            'price': nn.Linear(64, 3),
        })

    def forward(self, x):
        z = self.neck(self.backbone(x))
        return {k: head(z) for k, head in self.heads.items()}


def multitask_loss(outputs, targets, weights):
    losses = {k: F.cross_entropy(outputs[k], targets[k]) for k in outputs}
    return sum(weights[k] * l for k, l in losses.items()), losses


def main():
    full = ProductImages(144)
    n_val = int(len(full) * 0.33)
    train_set, val_set = torch.utils.data.random_split(full, [len(full) - n_val, n_val])
    train_dl = DataLoader(train_set, batch_size=16, shuffle=True)
    val_dl = DataLoader(val_set, batch_size=16)

    model = MultiTaskNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    weights = {'category': 1.0, 'price': 0.5}

    for epoch in range(2):
        model.train()
        for imgs, targets in train_dl:
            outputs = model(imgs)
            loss, parts = multitask_loss(outputs, targets, weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('epoch', epoch, {k: round(v.item(), 3) for k, v in parts.items()})

        model.eval()
        hits = {'category': 0, 'price': 0}
        with torch.no_grad():
            for imgs, targets in val_dl:
                outputs = model(imgs)
                for k in hits:
                    hits[k] += (outputs[k].argmax(1) == targets[k]).sum().item()
        print('val', {k: round(v / n_val, 3) for k, v in hits.items()})


if __name__ == '__main__':
    main()
