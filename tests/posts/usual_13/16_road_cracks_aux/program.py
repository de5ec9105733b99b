"""Crack segmentation on asphalt photos with a torchvision model."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


class AsphaltCracks(Dataset):
    def __init__(self, n, size=96, seed=0):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 * self.seed + i)
        img = 0.45 + 0.05 * torch.randn(1, self.size, self.size, generator=g)
        mask = torch.zeros(self.size, self.size, dtype=torch.long)
        col = int(torch.randint(20, self.size - 20, (1,), generator=g))
        for row in range(self.size):
            col = min(max(col + int(torch.randint(-1, 2, (1,), generator=g)), 4), self.size - 5)
            mask[row, col - 3:col + 4] = 1
        img = (img - 0.3 * mask).clamp(0, 1).expand(3, -1, -1)
        return (img - MEAN) / STD, mask


def iou(pred, mask):
    inter = ((pred == 1) & (mask == 1)).sum().item()
    union = ((pred == 1) | (mask == 1)).sum().item()
    return inter, union


def train(model, loader, criterion, optimizer, device):
    model.train()
    running = 0.0
    for images, masks in loader:
        images, masks = images.to(device), masks.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs["out"], masks) + 0.4 * criterion(outputs["aux"], masks)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
    return running / len(loader.dataset)


def evaluate(model, loader, device):
    model.eval()
    inter, union = 0, 0
    with torch.no_grad():
        for images, masks in loader:
            pred = model(images.to(device))["out"].argmax(1).cpu()
            i, u = iou(pred, masks)
            inter, union = inter + i, union + u
    return inter / max(union, 1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(AsphaltCracks(24), batch_size=8, shuffle=True)
    test_loader = DataLoader(AsphaltCracks(8, seed=1), batch_size=8)
    model = deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=2).to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.3, 1.0], device=device))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        loss = train(model, train_loader, criterion, optimizer, device)
        print(f"epoch {epoch + 1}: loss {loss:.4f}  IoU {evaluate(model, test_loader, device):.3f}")


if __name__ == "__main__":
    main()
