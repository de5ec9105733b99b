import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class PositionEncodingSine(nn.Module):
    """2-D sinusoidal position encoding, added to a feature map of d_model channels."""

    def __init__(self, d_model, max_shape=(64, 64)):
        super().__init__()
        pe = torch.zeros((d_model, *max_shape))
        y = torch.ones(max_shape).cumsum(0).float().unsqueeze(0)
        x = torch.ones(max_shape).cumsum(1).float().unsqueeze(0)
        freq = torch.exp(torch.arange(0, d_model // 2, 2).float() * (-math.log(10000.0) / (d_model // 2)))
        freq = freq[:, None, None]
        pe[0::4] = torch.sin(x * freq)
        pe[1::4] = torch.cos(x * freq)
        pe[2::4] = torch.sin(y * freq)
        pe[3::4] = torch.cos(y * freq)
        self.register_buffer("pe", pe.unsqueeze(0), persistent=False)

    def forward(self, feat):
        return feat + self.pe[:, :, :feat.size(2), :feat.size(3)]


class Backbone(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 32, 7, 2, 3), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU(),
            nn.Conv2d(dim, dim, 3, 2, 1),
        )

    def forward(self, x):
        return self.net(x)


class Matcher(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim = config["d_model"]
        self.backbone = Backbone(dim)
        self.pos_encoding = PositionEncodingSine(dim)
        self.self_attn = nn.MultiheadAttention(dim, config["nhead"], batch_first=True)
        self.cross_attn = nn.MultiheadAttention(dim, config["nhead"], batch_first=True)
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.temperature = config["temperature"]

    def tokens(self, image):
        return self.pos_encoding(self.backbone(image)).flatten(2).transpose(1, 2)

    def forward(self, image0, image1):
        f0, f1 = self.tokens(image0), self.tokens(image1)
        f0 = self.norm1(f0 + self.self_attn(f0, f0, f0)[0])
        f1 = self.norm1(f1 + self.self_attn(f1, f1, f1)[0])
        g0 = self.norm2(f0 + self.cross_attn(f0, f1, f1)[0])
        g1 = self.norm2(f1 + self.cross_attn(f1, f0, f0)[0])
        sim = g0 @ g1.transpose(1, 2) / (g0.size(-1) * self.temperature)
        return F.log_softmax(sim, 1) + F.log_softmax(sim, 2)


def image_pairs(n, size=64):
    base = F.interpolate(torch.randn(n, 1, size // 4 + 4, size // 4 + 4), size=size + 16, mode="bicubic")
    image0 = base[:, :, :size, :size]
    image1 = base[:, :, 8:8 + size, 8:8 + size]
    side = size // 8
    gt = [(r * side + c, (r - 1) * side + (c - 1)) for r in range(1, side) for c in range(1, side)]
    return image0, image1, torch.tensor(gt)


def train(config):
    torch.manual_seed(config["seed"])
    model = Matcher(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=0.1)
    for step in range(config["steps"]):
        image0, image1, gt = image_pairs(4)
        conf = model(image0, image1)
        loss = -conf[:, gt[:, 0], gt[:, 1]].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            hit = (conf.argmax(2)[:, gt[:, 0]] == gt[:, 1]).float().mean()
            print("step %d loss %.3f precision %.3f" % (step + 1, loss.item(), hit.item()))


if __name__ == "__main__":
    train({"d_model": 128, "nhead": 4, "temperature": 0.1, "lr": 5e-4, "steps": 40, "seed": 66})
