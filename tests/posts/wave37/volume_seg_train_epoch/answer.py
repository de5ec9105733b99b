# %%
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

roi = (24, 24, 24)
batch_size = 2
max_epochs = 6
val_every = 2


# %% synthetic multi-modal volumes with a tumour core inside a whole tumour
class BrainVolumes(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.items = []
        grid = np.stack(np.meshgrid(*[np.arange(s) for s in roi], indexing="ij"), -1)
        for _ in range(n):
            center = rng.randint(8, 16, 3)
            r = rng.randint(5, 8)
            dist = np.linalg.norm(grid - center, axis=-1)
            whole, core = dist < r, dist < r * 0.6
            image = rng.randn(4, *roi) * 0.5
            image[:2] += whole * 1.0
            image[2:] += core * 1.0
            self.items.append((image.astype("float32"), np.stack([core, whole]).astype("float32")))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, label = self.items[i]
        return {"image": torch.from_numpy(image), "label": torch.from_numpy(label)}


train_loader = DataLoader(BrainVolumes(12, 0), batch_size=batch_size, shuffle=True)
val_loader = DataLoader(BrainVolumes(4, 1), batch_size=1)


# %%
class SmallUNETR(nn.Module):
    def __init__(self, in_channels, out_channels, feature_size=12, patch=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv3d(in_channels, feature_size, 3, padding=1),
                                  nn.InstanceNorm3d(feature_size), nn.LeakyReLU())
        dim = feature_size * 4
        self.patch_embed = nn.Conv3d(in_channels, dim, patch, stride=patch)
        self.pos = nn.Parameter(torch.zeros(1, (roi[0] // patch) ** 3, dim))
        self.blocks = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, 4, dim * 2, dropout=0.0, batch_first=True), 1)
        self.up = nn.ConvTranspose3d(dim, feature_size, patch, stride=patch)
        self.out = nn.Sequential(nn.Conv3d(feature_size * 2, feature_size, 3, padding=1),
                                 nn.LeakyReLU(), nn.Conv3d(feature_size, out_channels, 1))

    def forward(self, x):
        skip = self.stem(x)
        z = self.patch_embed(x)
        shape = z.shape
        z = self.blocks(z.flatten(2).transpose(1, 2) + self.pos)
        z = self.up(z.transpose(1, 2).reshape(shape))
        return self.out(torch.cat([skip, z], dim=1))


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def dice_loss(logits, target, smooth=1e-5):
    prob = logits.sigmoid()
    inter = (prob * target).sum((2, 3, 4))
    denom = (prob ** 2).sum((2, 3, 4)) + target.sum((2, 3, 4))
    return (1 - (2 * inter + smooth) / (denom + smooth)).mean()


# %%
def train_epoch(model, loader, optimizer, epoch, loss_func):
    model.train()
    start_time = time.time()
    run_loss = AverageMeter()
    for idx, batch_data in enumerate(loader):
        data, target = batch_data["image"].to(device), batch_data["label"].to(device)
        logits = model(data)
        loss = loss_func(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run_loss.update(loss.item(), n=data.size(0))
    print(f"Epoch {epoch}/{max_epochs} loss: {run_loss.avg:.4f} time {time.time() - start_time:.2f}s")
    return run_loss.avg


@torch.no_grad()
def val_epoch(model, loader):
    model.eval()
    run_acc = AverageMeter()
    for batch_data in loader:
        pred = (model(batch_data["image"].to(device)).sigmoid() > 0.5).float()
        run_acc.update(1 - dice_loss((pred - 0.5) * 100, batch_data["label"].to(device)).item())
    return run_acc.avg


# %%
model = SmallUNETR(in_channels=4, out_channels=2).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-5)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max_epochs)
best = 0.0
for epoch in range(1, max_epochs + 1):
    train_epoch(model, train_loader, optimizer, epoch, dice_loss)
    if epoch % val_every == 0:
        acc = val_epoch(model, val_loader)
        best = max(best, acc)
        print(f"  val dice {acc:.4f} (best {best:.4f})")
    scheduler.step()
