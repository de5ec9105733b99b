import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvTower(nn.Module):
    def __init__(self, width=32, out_dim=64):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, stride=2, padding=3), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width * 2, 3, stride=2, padding=1), nn.GroupNorm(4, width * 2), nn.ReLU(),
            nn.Conv2d(width * 2, width * 2, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.proj = nn.Linear(width * 2, out_dim)

    def forward(self, x):
        return self.proj(self.stem(x).mean(dim=(2, 3)))


class StepEmbedding(nn.Module):
    def __init__(self, horizon, dim):
        super().__init__()
        pos = torch.arange(horizon).float()[:, None]
        div = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(1e4) / dim))
        table = torch.zeros(horizon, dim)
        table[:, 0::2] = torch.sin(pos * div)
        table[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("table", table)

    def forward(self):
        return self.table


class TwoViewPolicy(nn.Module):
    """Predicts a chunk of actions from the top camera, the hand camera and the joints.

    images come from the replay buffer as (batch, cam_len, height, width, 3) in 0..255
    """

    def __init__(self, joints=7, horizon=16, dim=64):
        super().__init__()
        self.top = ConvTower(out_dim=dim)
        self.hand = ConvTower(out_dim=dim)
        self.joint = nn.Linear(joints, dim)
        self.steps = StepEmbedding(horizon, dim)
        layer = nn.TransformerDecoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.head = nn.Linear(dim, joints)

    def forward(self, imgtop, imghand, qpos):
        b, n, h, w, c = imgtop.shape
        imgtop = imgtop.reshape(b * n, h, w, c).permute(0, 3, 1, 2) / 255.0
        imghand = imghand.reshape(b * n, h, w, c).permute(0, 3, 1, 2) / 255.0
        imgtop = F.interpolate(imgtop, size=(96, 96), mode="bilinear", align_corners=False)
        imghand = F.interpolate(imghand, size=(96, 96), mode="bilinear", align_corners=False)
        memory = torch.stack([self.top(imgtop), self.hand(imghand), self.joint(qpos)], dim=1)
        queries = self.steps().unsqueeze(0).expand(b, -1, -1)
        return self.head(self.decoder(queries, memory))
