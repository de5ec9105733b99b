"""Fine-tuning a compact ViT on sketch icons with a warm-up + cosine schedule and a metric log."""
import json
import logging

import torch
import torch.nn as nn
from timm.models.vision_transformer import VisionTransformer
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")

CFG = {
    "epochs": 8,
    "warmup_epochs": 1,
    "batch_size": 32,
    "lr": 2e-3,
    "min_lr": 1e-5,
    "weight_decay": 0.05,
    "n_train": 1600,
    "n_val": 200,
}


def icons(n, seed, size=32):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    x = 0.2 * torch.randn(n, 1, size, size, generator=g)
    lin = torch.arange(size)
    for img, label in zip(x, y.tolist()):
        cy, cx = torch.randint(10, 22, (2,), generator=g).tolist()
        r = int(torch.randint(5, 9, (1,), generator=g))
        dy, dx = (lin - cy).abs()[:, None], (lin - cx).abs()[None, :]
        if label == 0:
            shape = (dy ** 2 + dx ** 2 < r * r) & (dy ** 2 + dx ** 2 > (r - 2) ** 2)
        elif label == 1:
            shape = (torch.maximum(dy, dx) < r) & (torch.maximum(dy, dx) > r - 3)
        elif label == 2:
            shape = ((dy - dx).abs() < 2) & (dy < r)
        else:
            shape = ((dy < 2) & (dx < r)) | ((dx < 2) & (dy < r))
        img[0][shape] += 1.2
    return TensorDataset(x, y)


def build_model():
    return VisionTransformer(
        img_size=32, patch_size=8, in_chans=1, num_classes=4, embed_dim=48,
        depth=3, num_heads=4, mlp_ratio=2.0, class_token=True,
    )


def build_optim(model, cfg):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": cfg["weight_decay"]}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=cfg["lr"])


def build_schedule(optimizer, cfg, steps_per_epoch):
    warmup_steps = cfg["warmup_epochs"] * steps_per_epoch
    warmup = LinearLR(optimizer, start_factor=0.01, total_iters=warmup_steps)
    cosine = CosineAnnealingLR(
        optimizer, T_max=cfg["epochs"] - cfg["warmup_epochs"], eta_min=cfg["min_lr"]
    )
    return SequentialLR(optimizer, [warmup, cosine], milestones=[warmup_steps])


@torch.inference_mode()
def validate(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main(cfg):
    torch.manual_seed(0)
    train_loader = DataLoader(icons(cfg["n_train"], 0), cfg["batch_size"], shuffle=True)
    val_loader = DataLoader(icons(cfg["n_val"], 1), 100)
    model = build_model()
    optimizer = build_optim(model, cfg)
    scheduler = build_schedule(optimizer, cfg, len(train_loader))
    criterion = nn.CrossEntropyLoss()

    for epoch in range(cfg["epochs"]):
        model.train()
        running = 0.0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            running += loss.item() * y.size(0)
        row = {
            "epoch": epoch,
            "loss": round(running / cfg["n_train"], 4),
            "val_acc": validate(model, val_loader),
            "lr": float(f"{scheduler.get_last_lr()[0]:.2e}"),
        }
        print(json.dumps(row))


if __name__ == "__main__":
    main(CFG)
