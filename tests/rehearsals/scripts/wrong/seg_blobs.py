import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

IGNORE = 255
NUM_CLASSES = 4


class BlobScenes(Dataset):
    """Random rectangles of three classes over background, borders unlabelled."""

    def __init__(self, n, size=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(size, size, dtype=torch.long)
            for c in range(1, NUM_CLASSES):
                y, x = torch.randint(0, size - 9, (2,), generator=g).tolist()
                mask[y:y + 8, x:x + 8] = c
            noise = torch.randn(3, size, size, generator=g) * 0.3
            image = noise + F.one_hot(mask, NUM_CLASSES).permute(2, 0, 1)[1:].float()
            mask[0] = mask[-1] = IGNORE
            mask[:, 0] = mask[:, -1] = IGNORE
            self.images.append(image)
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.masks[index]


class TinyFCN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(width, NUM_CLASSES, 1)

    def forward(self, x):
        h = self.mid(self.down(x))
        return F.interpolate(self.out(h), size=x.shape[-2:], mode="bilinear", align_corners=False)


class ConfusionMatrix:
    def __init__(self, n):
        self.n = n
        self.mat = torch.zeros(n, n, dtype=torch.long)

    def update(self, target, pred):
        target, pred = target.flatten(), pred.flatten()
        index = self.n * target + pred
        self.mat += torch.bincount(index, minlength=self.n ** 2).reshape(self.n, self.n)

    def iou(self):
        h = self.mat.float()
        inter = h.diag()
        return inter / (h.sum(0) + h.sum(1) - inter).clamp(min=1)


def train_one_epoch(model, loader, optimizer):
    model.train()
    running = 0.0
    for images, masks in loader:
        logits = model(images)
        loss = F.cross_entropy(logits, masks, ignore_index=IGNORE)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    confusion = ConfusionMatrix(NUM_CLASSES)
    for images, masks in loader:
        confusion.update(masks, model(images).argmax(1))
    return confusion.iou()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", default=3, type=int)
    p.add_argument("-b", "--batch-size", default=8, type=int)
    args = p.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(BlobScenes(60), args.batch_size, shuffle=True)
    val_loader = DataLoader(BlobScenes(21, seed=1), args.batch_size)
    net = TinyFCN()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(args.epochs):
        loss = train_one_epoch(net, train_loader, optimizer)
        iou = evaluate(net, val_loader)
        print(f"epoch {epoch}: loss {loss:.4f} mIoU {iou.mean():.4f}", [round(v, 3) for v in iou.tolist()])
