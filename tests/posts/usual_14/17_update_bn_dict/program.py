"""Defect classifier with stochastic weight averaging for the last epochs."""
import copy
import logging
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("swa")


@dataclass
class Config:
    n_train: int = 640
    n_val: int = 160
    batch_size: int = 32
    epochs: int = 6
    swa_start: int = 3
    lr: float = 0.05
    swa_lr: float = 0.02
    seed: int = 17


class SurfaceDataset(Dataset):
    """Grey patches; class 0 ok, 1 scratch, 2 dent."""

    def __init__(self, n, seed, size=20):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(3, (n,), generator=g)
        self.images = 0.3 * torch.randn(n, 1, size, size, generator=g)
        for img, label in zip(self.images, self.labels):
            r, c = torch.randint(3, size - 6, (2,), generator=g).tolist()
            if label == 1:
                img[0, r, 2:size - 2] += 1.5
            elif label == 2:
                img[0, r:r + 4, c:c + 4] -= 1.2

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"image": self.images[i], "label": self.labels[i], "patch_id": i}


class PatchNet(nn.Module):
    def __init__(self, n_classes=3, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(5), nn.Flatten(),
        )
        self.classifier = nn.Linear(2 * width * 25, n_classes)

    def forward(self, image):
        return self.classifier(self.features(image))


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    right = total = 0
    for batch in loader:
        right += (model(batch["image"]).argmax(1) == batch["label"]).sum().item()
        total += batch["label"].numel()
    return right / total


def train(cfg: Config):
    torch.manual_seed(cfg.seed)
    train_loader = DataLoader(SurfaceDataset(cfg.n_train, 0), cfg.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(SurfaceDataset(cfg.n_val, 1), 80)

    model = PatchNet()
    swa_model = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=cfg.swa_start)
    swa_scheduler = SWALR(optimizer, swa_lr=cfg.swa_lr, anneal_epochs=1)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    for epoch in range(cfg.epochs):
        model.train()
        for batch in train_loader:
            loss = criterion(model(batch["image"]), batch["label"])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        if epoch >= cfg.swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
        log.info("epoch %d loss %.4f val acc %.3f", epoch, loss.item(), evaluate(model, val_loader))

    update_bn(train_loader, swa_model)
    log.info("swa val acc %.3f", evaluate(swa_model, val_loader))
    return copy.deepcopy(swa_model.module.state_dict())


if __name__ == "__main__":
    weights = train(Config())
    log.info("%d tensors in the averaged state", len(weights))
