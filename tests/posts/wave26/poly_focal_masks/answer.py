import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PolyFocalLoss(nn.Module):
    """Focal loss with the first polynomial term, for class masks or one-hot targets."""

    def __init__(self, num_classes, epsilon=1.0, alpha=0.5, gamma=2.0, weight=None, reduction="mean"):
        super().__init__()
        self.num_classes = num_classes
        self.epsilon = epsilon
        self.alpha = alpha
        self.gamma = gamma
        self.weight = weight
        self.reduction = reduction

    def forward(self, logits, labels):
        p = torch.sigmoid(logits)
        if labels.ndim == logits.ndim - 1:
            labels = F.one_hot(labels, self.num_classes).movedim(-1, 1)
        labels = labels.to(dtype=logits.dtype)

        bce = F.binary_cross_entropy_with_logits(logits, labels, weight=self.weight, reduction="none")
        pt = labels * p + (1 - labels) * (1 - p)
        focal = bce * (1 - pt) ** self.gamma
        if self.alpha >= 0:
            focal = (self.alpha * labels + (1 - self.alpha) * (1 - labels)) * focal
        loss = focal + self.epsilon * (1 - pt) ** (self.gamma + 1)

        if self.reduction == "mean":
            return loss.mean()
        if self.reduction == "sum":
            return loss.sum()
        return loss


class TinySegmenter(nn.Module):
    def __init__(self, num_classes, width=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        x = self.mid(self.down(x))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(x)


def make_masks(count, size=64):
    masks = torch.zeros(count, size, size, dtype=torch.long)
    for mask in masks:
        y, x = torch.randint(0, size - 20, (2,)).tolist()
        mask[y : y + 16, x : x + 16] = 1
    images = torch.randn(count, 3, size, size) * 0.5
    images[:, 0] += 2 * masks
    return TensorDataset(images, masks)


def main():
    torch.manual_seed(0)
    num_classes = 2
    loader = DataLoader(make_masks(48), batch_size=8, shuffle=True)
    model = TinySegmenter(num_classes)
    criterion = PolyFocalLoss(num_classes, weight=torch.tensor([0.1, 0.9]).reshape(1, 2, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(10):
        running, hits, area = 0.0, 0, 0
        for images, masks in loader:
            optimizer.zero_grad()
            logits = model(images)
            loss = criterion(logits, masks)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(images)
            predicted = logits.argmax(1)
            hits += ((predicted == 1) & (masks == 1)).sum().item()
            area += ((predicted == 1) | (masks == 1)).sum().item()
        print(f"epoch {epoch + 1}: loss {running / len(loader.dataset):.4f} iou {hits / max(area, 1):.3f}")


if __name__ == "__main__":
    main()
