import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BuildingChange(Dataset):
    """Two acquisitions of the same place and the mask of what is new in the second."""

    def __init__(self, n, size=64, seed=0):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(self.seed * 10000 + index)
        before = F.interpolate(torch.rand(1, 3, 8, 8, generator=g), size=self.size, mode="bilinear")[0]
        after = before + 0.05 * torch.randn(before.shape, generator=g)
        mask = torch.zeros(self.size, self.size)
        for _ in range(4):
            w = int(torch.randint(8, 16, (1,), generator=g))
            y, x = torch.randint(0, self.size - w, (2,), generator=g).tolist()
            after[:, y:y + w, x:x + w] = 1.0 - before[:, y:y + w, x:x + w]
            mask[y:y + w, x:x + w] = 1.0
        return {"image": torch.stack([before, after]), "mask": mask}


def extract_patches(x, size):
    """[..., H, W] -> [..., P, size, size]"""
    x = x.unfold(-2, size, size).unfold(-2, size, size)
    return x.flatten(-4, -3)


class ChangeDataModule:
    def __init__(self, batch_size=4, patch_size=32):
        self.batch_size = batch_size
        self.patch_size = patch_size
        self.train_set = BuildingChange(64, seed=1)
        self.val_set = BuildingChange(16, seed=2)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.batch_size)

    def on_after_batch_transfer(self, batch):
        image = extract_patches(batch["image"], self.patch_size).transpose(2, 3)
        mask = extract_patches(batch["mask"], self.patch_size)
        b, t, p = image.shape[:3]
        batch["image"] = image.transpose(1, 2).reshape(b * p, t, *image.shape[3:])
        batch["mask"] = mask.reshape(b * p, *mask.shape[2:])
        return batch


class SiameseDiff(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.head = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        before, after = self.encoder(x[:, 0]), self.encoder(x[:, 1])
        return self.head((after - before).abs()).squeeze(1)


def iou(logits, mask):
    pred = logits > 0
    truth = mask > 0.5
    return (pred & truth).sum().item(), (pred | truth).sum().item()


def main():
    torch.manual_seed(0)
    datamodule = ChangeDataModule()
    model = SiameseDiff()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    for epoch in range(4):
        model.train()
        losses = []
        for batch in datamodule.train_dataloader():
            batch = datamodule.on_after_batch_transfer(batch)
            loss = F.binary_cross_entropy_with_logits(model(batch["image"]), batch["mask"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

        model.eval()
        inter = union = 0
        with torch.no_grad():
            for batch in datamodule.val_dataloader():
                batch = datamodule.on_after_batch_transfer(batch)
                i, u = iou(model(batch["image"]), batch["mask"])
                inter, union = inter + i, union + u
        print("epoch %d  loss %.4f  val IoU %.3f" % (epoch, sum(losses) / len(losses), inter / max(union, 1)))


if __name__ == "__main__":
    main()
