"""Fine-tune a timm backbone on three kinds of surface defects; only the new head is to be trained."""
import logging

import timm
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("defects")

DEFECTS = ("scratch", "pit", "stain")


class SurfaceDefects(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(len(DEFECTS), (n,), generator=g)
        self.images = 0.2 * torch.rand(n, 3, 32, 32, generator=g)
        for img, k in zip(self.images, self.labels):
            if k == 0:
                img[:, 15:17, :] += 0.8
            elif k == 1:
                img[:, 12:16, 12:16] += 0.8
            else:
                img[0] += 0.4

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def build(num_classes):
    model = timm.create_model("resnet10t", pretrained=False)
    model.reset_classifier(num_classes)
    return model


def freeze(model):
    n = 0
    for p in model.parameters():
        p.requires_grad = False
        n += p.numel()
    log.info("froze %d parameters", n)


def fit(model, loaders, epochs=2):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(epochs):
        model.train()
        for images, labels in loaders["train"]:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()

        model.eval()
        good = 0
        with torch.no_grad():
            for images, labels in loaders["val"]:
                good += (model(images).argmax(1) == labels).sum().item()
        log.info("epoch %d loss %.3f val %.3f", epoch, loss.item(), good / len(loaders["val"].dataset))


def main():
    torch.manual_seed(0)
    loaders = {
        "train": DataLoader(SurfaceDefects(64, 0), batch_size=16, shuffle=True),
        "val": DataLoader(SurfaceDefects(32, 1), batch_size=16),
    }
    model = build(len(DEFECTS))
    freeze(model)
    fit(model, loaders)


if __name__ == "__main__":
    main()
