import argparse
import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

NUM_CLASSES = 200


class SmallImages(Dataset):
    """64x64 pictures, 200 categories, a few per category."""

    def __init__(self, per_class, transform=None, seed=0):
        g = torch.Generator().manual_seed(seed)
        base = torch.Generator().manual_seed(1234)
        self.colours = torch.rand(NUM_CLASSES, 3, 4, 4, generator=base)
        self.labels = torch.arange(NUM_CLASSES).repeat(per_class)
        self.noise = torch.randn(len(self.labels), 3, 4, 4, generator=g) * 0.05
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        label = self.labels[idx]
        img = (self.colours[label] + self.noise[idx]).clamp(0, 1)
        img = nn.functional.interpolate(img[None], size=64, mode="nearest")[0]
        if self.transform is not None:
            img = self.transform(img)
        return img, label


def build_model():
    model = models.resnet18(weights=None)
    model.avgpool = nn.AdaptiveAvgPool2d(1)
    model.fc.out_features = NUM_CLASSES
    return model


def accuracy(output, target, topk=(1, 5)):
    _, pred = output.topk(max(topk), dim=1)
    hits = pred.eq(target.unsqueeze(1))
    return [hits[:, :k].any(dim=1).float().sum().item() for k in topk]


def run_epoch(model, loader, criterion, optimizer=None, device="cpu"):
    training = optimizer is not None
    model.train(training)
    loss_sum, top1, top5, seen = 0.0, 0.0, 0.0, 0
    with torch.set_grad_enabled(training):
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            outputs = model(images)
            loss = criterion(outputs, labels)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            a1, a5 = accuracy(outputs, labels)
            loss_sum += loss.item() * labels.size(0)
            top1 += a1
            top5 += a5
            seen += labels.size(0)
    return loss_sum / seen, top1 / seen, top5 / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.001)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    normalize = transforms.Normalize([0.5, 0.5, 0.5], [0.3, 0.3, 0.3])
    train_set = SmallImages(2, transforms.Compose([transforms.RandomHorizontalFlip(), normalize]), seed=1)
    val_set = SmallImages(1, normalize, seed=2)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = build_model().to(device)
    print("classifier:", model.fc)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)

    for epoch in range(args.epochs):
        start = time.time()
        tr = run_epoch(model, train_loader, criterion, optimizer, device)
        va = run_epoch(model, val_loader, criterion, None, device)
        scheduler.step()
        print("epoch %d  train %.4f/%.3f/%.3f  val %.4f/%.3f/%.3f  (%.0fs)"
              % ((epoch + 1,) + tr + va + (time.time() - start,)))


if __name__ == "__main__":
    main()
