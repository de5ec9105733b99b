import copy
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BoxScenes(Dataset):
    """One coloured box per image, with its class and centre."""

    def __init__(self, n, num_classes, size=32):
        gen = torch.Generator().manual_seed(num_classes)
        self.samples = []
        for _ in range(n):
            cls = int(torch.randint(0, num_classes, (1,), generator=gen))
            cy, cx = torch.randint(6, size - 6, (2,), generator=gen).tolist()
            img = 0.1 * torch.randn(3, size, size, generator=gen)
            img[cls % 3, cy - 4:cy + 4, cx - 4:cx + 4] += 1.0 + 0.1 * cls
            self.samples.append((img, cls, torch.tensor([cy / size, cx / size])))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


class Head(nn.Module):
    def __init__(self, width, num_classes):
        super().__init__()
        self.cls = nn.Linear(width, num_classes)
        self.reg = nn.Linear(width, 2)

    def forward(self, feat):
        return self.cls(feat), self.reg(feat).sigmoid()


class Detector(nn.Module):
    def __init__(self, num_classes, width=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.SiLU(),
            nn.Conv2d(16, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.SiLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(width * 16, width), nn.SiLU(),
        )
        self.bbox_head = Head(width, num_classes)

    def forward(self, x):
        return self.bbox_head(self.backbone(x))


class EMA:
    def __init__(self, model, momentum=0.02):
        self.module = copy.deepcopy(model).eval()
        self.momentum = momentum

    def after_load_checkpoint(self, state_dict):
        self.module.load_state_dict(copy.deepcopy(state_dict))

    @torch.no_grad()
    def update(self, model):
        for avg, cur in zip(self.module.state_dict().values(), model.state_dict().values()):
            if avg.dtype.is_floating_point:
                avg.lerp_(cur, self.momentum)
            else:
                avg.copy_(cur)


def load_checkpoint(model, state_dict):
    own = model.state_dict()
    kept = {k: v for k, v in state_dict.items() if k in own and own[k].shape == v.shape}
    skipped = sorted(set(state_dict) - set(kept))
    if skipped:
        print("not loaded:", ", ".join(skipped))
    model.load_state_dict(kept, strict=False)


class Runner:
    def __init__(self, num_classes, load_from=None, epochs=2):
        self.model = Detector(num_classes)
        self.ema = EMA(self.model)
        self.loader = DataLoader(BoxScenes(96, num_classes), batch_size=16, shuffle=True)
        self.load_from = load_from
        self.epochs = epochs

    def train(self):
        if self.load_from:
            state_dict = torch.load(self.load_from)["state_dict"]
            load_checkpoint(self.model, state_dict)
            self.ema.after_load_checkpoint(state_dict)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        for epoch in range(self.epochs):
            for img, cls, centre in self.loader:
                logits, box = self.model(img)
                loss = F.cross_entropy(logits, cls) + 5 * F.smooth_l1_loss(box, centre)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                self.ema.update(self.model)
            print(f"epoch {epoch} loss {loss.item():.3f}")

    def save(self, path):
        torch.save({"state_dict": self.ema.module.state_dict()}, path)


if __name__ == "__main__":
    torch.manual_seed(0)
    checkpoint = os.path.join(tempfile.mkdtemp(), "base.pth")
    base = Runner(num_classes=12)
    base.train()
    base.save(checkpoint)
    Runner(num_classes=4, load_from=checkpoint).train()
