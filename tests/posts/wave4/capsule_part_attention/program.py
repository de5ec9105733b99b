import torch
import torch.nn as nn


class PartCapsuleEncoder(nn.Module):
    """Image to part capsules: a pose and a presence for each of n_caps parts."""

    def __init__(self, in_channels=1, n_caps=24, pose_dim=6, special_dim=16):
        super().__init__()
        self.n_caps, self.pose_dim, self.special_dim = n_caps, pose_dim, special_dim
        self.stem = nn.Sequential(
            nn.Conv2d(in_channels, 64, 3, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU())
        self.attention_conv = nn.Conv2d(64, n_caps * (pose_dim + special_dim + 1), 1)
        self.attention_mask = nn.Conv2d(64, n_caps, 1)
        self.soft_max = nn.Softmax(2)

    def forward(self, x):
        features = self.stem(x)
        b, _, h, w = features.shape
        part = self.attention_conv(features).view(b, self.n_caps, -1, h, w)
        attention = self.attention_mask(features).view(b, self.n_caps, 1, h, w)
        attention_soft = self.soft_max(attention)
        pooled = (part * attention_soft).sum(dim=(3, 4)) / (h * w)
        pose, presence, special = pooled.split([self.pose_dim, 1, self.special_dim], dim=2)
        return pose, torch.sigmoid(presence), special


class ObjectCapsules(nn.Module):
    def __init__(self, n_parts=24, dim=23, n_obj=10, heads=1):
        super().__init__()
        self.embed = nn.Linear(dim, 64)
        self.seeds = nn.Parameter(torch.randn(n_obj, 64) * 0.1)
        self.attn = nn.MultiheadAttention(64, heads, batch_first=True)
        self.out = nn.Linear(64, 1)

    def forward(self, parts):
        tokens = self.embed(parts)
        seeds = self.seeds.unsqueeze(0).expand(parts.size(0), -1, -1)
        obj, _ = self.attn(seeds, tokens, tokens)
        return self.out(obj).squeeze(-1)


class StackedCapsuleNet(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.parts = PartCapsuleEncoder()
        self.objects = ObjectCapsules(n_obj=n_classes)

    def forward(self, x):
        pose, presence, special = self.parts(x)
        return self.objects(torch.cat([pose * presence, presence, special], dim=2))
