import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import Dataset, DataLoader
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

N_CLASSES = 3   # background, crop, weed
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class FieldDataset(Dataset):
    def __init__(self, n, size=64, seed=0):
        rng = np.random.default_rng(seed)
        self.images = np.zeros((n, size, size, 3), np.uint8)
        self.masks = np.zeros((n, size, size), np.uint8)
        yy, xx = np.mgrid[:size, :size]
        for i in range(n):
            self.images[i] = (90, 60, 40) + rng.integers(0, 20, (size, size, 1))
            for cls, color in ((1, (40, 160, 50)), (2, (150, 170, 60))):
                cy, cx = rng.integers(12, size - 12, 2)
                r = rng.integers(6, 12)
                disk = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
                self.images[i][disk] = color
                self.masks[i][disk] = cls

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i]).permute(2, 0, 1).float() / 255
        return (img - MEAN) / STD, torch.from_numpy(self.masks[i]).long()


class IoUMeter:
    def __init__(self, n):
        self.n = n
        self.mat = torch.zeros(n, n, dtype=torch.long)

    def update(self, pred, target):
        k = target.flatten() * self.n + pred.flatten()
        self.mat += torch.bincount(k, minlength=self.n ** 2).view(self.n, self.n)

    def compute(self):
        inter = self.mat.diag()
        union = self.mat.sum(0) + self.mat.sum(1) - inter
        return (inter / union.clamp(min=1)).tolist()


def make_model():
    return lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=N_CLASSES)


class SegmentationTrainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.train_loader, self.val_loader = train_loader, val_loader
        self.criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.3, 1.0, 1.0], device=self.device))
        self.optimizer = optim.AdamW(self.model.parameters(), lr=lr)

    def predict(self, images):
        return self.model(images.to(self.device))["out"]

    def train_epoch(self):
        self.model.train()
        running = 0.0
        for images, masks in self.train_loader:
            logits = self.predict(images)
            loss = self.criterion(logits, masks.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            running += loss.item()
        return running / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        meter = IoUMeter(N_CLASSES)
        for images, masks in self.val_loader:
            meter.update(self.predict(images).argmax(1).cpu(), masks)
        return meter.compute()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = SegmentationTrainer(
        make_model(),
        DataLoader(FieldDataset(48, seed=0), batch_size=8, shuffle=True, drop_last=True),
        DataLoader(FieldDataset(16, seed=1), batch_size=8),
    )
    for epoch in range(2):
        loss = trainer.train_epoch()
        print(f"epoch {epoch}: loss {loss:.4f}  IoU {[round(v, 3) for v in trainer.validate()]}")
