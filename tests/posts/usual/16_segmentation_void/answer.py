import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

N_CLASSES = 5


class StreetScenes(Dataset):
    """RGB image + label map"""

    def __init__(self, n=24, size=64, seed=0):
        rng = np.random.default_rng(seed)
        self.images = rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8)
        self.masks = rng.integers(0, N_CLASSES, (n, size // 8, size // 8), dtype=np.uint8)
        self.masks = self.masks.repeat(8, axis=1).repeat(8, axis=2)
        self.masks[:, ::8, :] = 255

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i]).permute(2, 0, 1).float() / 255.0
        mask = torch.from_numpy(self.masks[i]).long()
        return img, mask


class FCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        )
        self.classifier = nn.Conv2d(64, n_classes, 1)

    def forward(self, x):
        size = x.shape[-2:]
        x = self.classifier(self.encoder(x))
        return nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)


def pixel_accuracy(logits, mask):
    pred = logits.argmax(1)
    valid = mask < N_CLASSES
    return (pred[valid] == mask[valid]).float().mean().item()


train_loader = DataLoader(StreetScenes(24), batch_size=6, shuffle=True)
val_loader = DataLoader(StreetScenes(6, seed=1), batch_size=6)

model = FCN(N_CLASSES)
weights = torch.tensor([0.5, 1.0, 1.0, 2.0, 2.0])
criterion = nn.CrossEntropyLoss(weight=weights, ignore_index=255)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for img, mask in train_loader:
        optimizer.zero_grad()
        out = model(img)
        loss = criterion(out, mask)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        accs = [pixel_accuracy(model(img), mask) for img, mask in val_loader]
    print(f"epoch {epoch}: loss {loss.item():.4f} pixel acc {np.mean(accs):.4f}")
