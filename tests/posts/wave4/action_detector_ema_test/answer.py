"""Temporal action detection on video features: train with a weight average, then test."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 3, padding=1)
        self.norm = nn.GroupNorm(4, cout)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Projection(nn.Module):
    def __init__(self, in_channels, out_channels, levels):
        super().__init__()
        self.embed = nn.ModuleList([ConvBlock(in_channels, out_channels), ConvBlock(out_channels, out_channels)])
        self.levels = levels

    def forward(self, x):
        for layer in self.embed:
            x = layer(x)
        return [F.max_pool1d(x, 2 ** i) if i else x for i in range(self.levels)]


class ActionFormerLite(nn.Module):
    def __init__(self, in_channels=128, channels=32, num_classes=20, levels=3):
        super().__init__()
        self.projection = Projection(in_channels, channels, levels)
        self.cls_head = nn.Conv1d(channels, num_classes, 3, padding=1)
        self.reg_head = nn.Conv1d(channels, 2, 3, padding=1)

    def forward(self, feats):
        pyramid = self.projection(feats)
        cls = torch.cat([self.cls_head(f) for f in pyramid], dim=2)
        reg = torch.cat([F.relu(self.reg_head(f)) for f in pyramid], dim=2)
        return cls, reg


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.999):
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            e.copy_(self.decay * e + (1 - self.decay) * m)


def train(path, epochs=1):
    model = nn.DataParallel(ActionFormerLite())
    model_ema = ModelEma(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for epoch in range(epochs):
        for _ in range(3):
            feats = torch.randn(2, 128, 64)
            cls, reg = model(feats)
            loss = F.binary_cross_entropy_with_logits(cls, (torch.rand_like(cls) > 0.9).float()) + reg.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model_ema.update(model)
        torch.save({"epoch": epoch, "state_dict": model.state_dict(),
                    "state_dict_ema": model_ema.module.state_dict()}, path)


def test(path, use_ema=True):
    model = ActionFormerLite()
    checkpoint = torch.load(path, map_location="cpu")
    state_dict = checkpoint["state_dict_ema" if use_ema else "state_dict"]
    state_dict = {k.removeprefix("module."): v for k, v in state_dict.items()}
    model.load_state_dict(state_dict)
    model.eval()
    with torch.no_grad():
        cls, reg = model(torch.randn(1, 128, 64))
    print("epoch", checkpoint["epoch"], "best scores", cls.sigmoid().amax(dim=(0, 2))[:5])


if __name__ == "__main__":
    checkpoint_path = os.path.join(".", "action_epoch_0.pth")
    train(checkpoint_path)
    test(checkpoint_path)
