import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CLASS_NAMES = ["background", "road", "sidewalk", "vehicle"]
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class DiceLoss(nn.Module):
    """Soft dice loss. mode is "binary", "multiclass" or "multilabel"."""

    def __init__(self, mode, smooth=1.0, eps=1e-7):
        super().__init__()
        if mode not in ("binary", "multiclass", "multilabel"):
            raise ValueError(f"unknown mode {mode}")
        self.mode = mode
        self.smooth = smooth
        self.eps = eps

    def forward(self, y_pred, y_true):
        bs, num_classes = y_pred.size(0), y_pred.size(1)
        if self.mode == "multiclass":
            y_pred = y_pred.log_softmax(dim=1).exp()
            y_true = F.one_hot(y_true.view(bs, -1).long(), num_classes)
            y_true = y_true.permute(0, 2, 1)
            y_pred = y_pred.view(bs, num_classes, -1)
        else:
            y_pred = torch.sigmoid(y_pred).view(bs, num_classes, -1)
            y_true = y_true.view(bs, num_classes, -1)
        y_true = y_true.type_as(y_pred)
        intersection = torch.sum(y_pred * y_true, dim=(0, 2))
        cardinality = torch.sum(y_pred + y_true, dim=(0, 2))
        score = (2 * intersection + self.smooth) / (cardinality + self.smooth).clamp_min(self.eps)
        present = (y_true.sum(dim=(0, 2)) > 0).float()
        return ((1.0 - score) * present).mean()


class RoadScenes(Dataset):
    def __init__(self, length=24, height=48, width=64):
        rng = np.random.default_rng(5)
        self.images = rng.normal(size=(length, 3, height, width)).astype(np.float32)
        self.labels = rng.integers(0, len(CLASS_NAMES), size=(length, height, width))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        label = self.labels[index]
        return torch.from_numpy(self.images[index]), torch.from_numpy(label.astype(np.int64))


class SmallFPN(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU())
        self.enc2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.lateral1 = nn.Conv2d(16, 24, 1)
        self.lateral2 = nn.Conv2d(32, 24, 1)
        self.head = nn.Conv2d(24, classes, 3, padding=1)

    def forward(self, x):
        c1 = self.enc1(x)
        c2 = self.enc2(c1)
        p2 = self.lateral2(c2)
        p1 = self.lateral1(c1) + F.interpolate(p2, scale_factor=2, mode="nearest")
        return self.head(F.interpolate(p1, scale_factor=2, mode="bilinear", align_corners=False))


def run_epoch(model, loader, loss_fn, optimizer):
    model.train()
    losses = []
    for image, mask in loader:
        y_pred = model(image.to(device))
        y_true = mask.to(device)
        loss = loss_fn(y_pred, y_true)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(RoadScenes(), batch_size=6, shuffle=True)
    model = SmallFPN(classes=len(CLASS_NAMES)).to(device)
    loss_fn = DiceLoss(mode="multiclass")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        print(f"epoch {epoch}: dice loss {run_epoch(model, loader, loss_fn, optimizer):.4f}")
