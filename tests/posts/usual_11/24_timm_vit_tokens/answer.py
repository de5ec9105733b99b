from copy import deepcopy

import numpy as np
import timm
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class CFG:
    model_name = "vit_tiny_patch16_224"
    size = 64
    target_cols = ["age_group", "view"]
    n_targets = [4, 2]
    epochs = 1
    lr = 3e-4
    min_lr = 1e-6
    batch_size = 16
    ema_decay = 0.95
    seed = 77


class XrayDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.age = rng.integers(0, CFG.n_targets[0], n)
        self.view = rng.integers(0, CFG.n_targets[1], n)
        self.images = rng.normal(0, 1, (n, 3, CFG.size, CFG.size)).astype(np.float32)
        self.images += 0.5 * self.age[:, None, None, None]
        self.images[self.view == 1, :, :, :32] += 1.0

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.tensor([self.age[i], self.view[i]])


class TwoHeadViT(nn.Module):
    def __init__(self, cfg, pretrained=False):
        super().__init__()
        self.backbone = timm.create_model(cfg.model_name, pretrained=pretrained,
                                          img_size=cfg.size, num_classes=0)
        n_features = self.backbone.num_features
        self.heads = nn.ModuleList([
            nn.Sequential(nn.LayerNorm(n_features), nn.Dropout(0.1), nn.Linear(n_features, n))
            for n in cfg.n_targets
        ])

    def feature(self, image):
        return self.backbone(image)

    def forward(self, image):
        feature = self.feature(image)
        return [head(feature) for head in self.heads]


class ModelEMA:
    def __init__(self, model, decay):
        self.module = deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.mul_(self.decay).add_(m, alpha=1 - self.decay)
            else:
                e.copy_(m)


class MultiTaskLoss(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights
        self.ce = nn.CrossEntropyLoss(label_smoothing=0.05)

    def forward(self, outputs, labels):
        return sum(w * self.ce(o, labels[:, i]) for i, (w, o) in enumerate(zip(self.weights, outputs)))


def train_fn(loader, model, criterion, optimizer, scheduler, ema):
    model.train()
    total = 0.0
    for images, labels in loader:
        y_preds = model(images)
        loss = criterion(y_preds, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        ema.update(model)
        total += loss.item() * images.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def valid_fn(loader, model):
    model.eval()
    hits = torch.zeros(len(CFG.target_cols))
    for images, labels in loader:
        for i, out in enumerate(model(images)):
            hits[i] += (out.argmax(1) == labels[:, i]).sum()
    return dict(zip(CFG.target_cols, (hits / len(loader.dataset)).tolist()))


torch.manual_seed(CFG.seed)
train_loader = DataLoader(XrayDataset(128, 1), CFG.batch_size, shuffle=True, drop_last=True)
valid_loader = DataLoader(XrayDataset(48, 2), CFG.batch_size)
model = TwoHeadViT(CFG)
ema = ModelEMA(model, CFG.ema_decay)
optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
    optimizer, T_max=CFG.epochs * len(train_loader), eta_min=CFG.min_lr)
for epoch in range(CFG.epochs):
    loss = train_fn(train_loader, model, MultiTaskLoss([1.0, 0.5]), optimizer, scheduler, ema)
    print(f"epoch {epoch + 1} loss {loss:.4f} valid {valid_fn(valid_loader, model)} ema {valid_fn(valid_loader, ema.module)}")
