import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

CLASSES = ["background", "road", "car"]


class RoadScenes(Dataset):
    def __init__(self, n=16, size=96):
        rng = np.random.default_rng(3)
        self.images = rng.random((n, size, size, 3), dtype=np.float32)
        self.masks = rng.integers(0, len(CLASSES), (n, size, size, 1)).astype(np.uint8)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1)
        mask = torch.from_numpy(self.masks[index]).permute(2, 0, 1).long()
        return image, mask


def mean_iou(logits, target, num_classes):
    pred = logits.argmax(dim=1)
    ious = []
    for c in range(num_classes):
        inter = ((pred == c) & (target == c)).sum().item()
        union = ((pred == c) | (target == c)).sum().item()
        if union > 0:
            ious.append(inter / union)
    return sum(ious) / len(ious)


def train(model, loader, epochs, device):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        losses = []
        for image, mask in loader:
            image, mask = image.to(device), mask.to(device)
            out = model(image)["out"]
            loss = criterion(out, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print("epoch %d loss %.4f miou %.3f" % (
            epoch, np.mean(losses), mean_iou(out.detach(), mask, len(CLASSES))))


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = DataLoader(RoadScenes(), batch_size=4, shuffle=True)
    net = lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=len(CLASSES)
    ).to(device)
    train(net, loader, epochs=2, device=device)
