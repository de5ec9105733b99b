import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class PartEncoder(nn.Module):
    """Predicts a pose (2x3 affine) and a presence logit for every part."""

    def __init__(self, n_parts):
        super().__init__()
        self.n_parts = n_parts
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 64), nn.ReLU(),
        )
        self.pose = nn.Linear(64, n_parts * 6)
        self.presence = nn.Linear(64, n_parts)
        nn.init.normal_(self.pose.weight, std=0.01)
        eye = torch.tensor([1.2, 0.0, 0.0, 0.0, 1.2, 0.0])
        self.pose.bias.data = eye.repeat(n_parts) + 0.3 * torch.randn(n_parts * 6)

    def forward(self, x):
        h = self.cnn(x)
        return self.pose(h).view(-1, self.n_parts, 2, 3), self.presence(h)


class GaussianMixtureImage:
    """Per-pixel mixture over the transformed templates."""

    def __init__(self, means, mixing_logits, scale):
        self.means = means                    # (B, K, H, W)
        self.mixing_logits = mixing_logits    # (B, K, H, W)
        self.scale = scale

    def mean(self):
        return (self.mixing_logits.softmax(dim=1) * self.means).sum(dim=1)

    def log_prob(self, image):
        mixing_log_prob = self.mixing_logits.log_softmax(dim=1)
        z = (image - self.means) / self.scale
        component_log_prob = -0.5 * z ** 2 - torch.log(self.scale) - 0.5 * math.log(2 * math.pi)
        return torch.log(torch.exp(mixing_log_prob + component_log_prob).sum(dim=1))


class PartCapsuleAE(nn.Module):
    def __init__(self, n_parts=8, template_size=9, image_size=20):
        super().__init__()
        self.image_size = image_size
        self.encoder = PartEncoder(n_parts)
        self.templates = nn.Parameter(torch.rand(n_parts, 1, template_size, template_size))
        self.background = nn.Parameter(torch.zeros(1))
        self.background_logit = nn.Parameter(torch.zeros(1))
        self.raw_scale = nn.Parameter(torch.tensor(-2.2))

    def forward(self, x):
        b, k = x.size(0), self.templates.size(0)
        pose, presence = self.encoder(x)
        grid = F.affine_grid(pose.reshape(b * k, 2, 3), (b * k, 1, self.image_size, self.image_size), align_corners=False)
        tiled = self.templates.unsqueeze(0).expand(b, -1, -1, -1, -1).reshape(b * k, 1, *self.templates.shape[-2:])
        parts = F.grid_sample(tiled, grid, align_corners=False).view(b, k, self.image_size, self.image_size)

        bg = self.background.view(1, 1, 1, 1).expand(b, 1, self.image_size, self.image_size)
        means = torch.cat([parts, bg], dim=1)
        logits = torch.cat([4.0 * parts + presence.view(b, k, 1, 1), self.background_logit.view(1, 1, 1, 1).expand_as(bg)], dim=1)
        return GaussianMixtureImage(means, logits, F.softplus(self.raw_scale) + 1e-3)


def binary_digits(n, size=20):
    digits = torch.tensor(load_digits().images[:n] / 16.0, dtype=torch.float32).unsqueeze(1)
    return (F.interpolate(digits, size=(size, size), mode="bilinear", align_corners=False) > 0.4).float()


torch.manual_seed(2)
loader = DataLoader(TensorDataset(binary_digits(1024)), batch_size=64, shuffle=True, drop_last=True)
model = PartCapsuleAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(16):
    total, mse = 0.0, 0.0
    for (image,) in loader:
        optimizer.zero_grad()
        rec = model(image)
        log_likelihood = rec.log_prob(image).flatten(1).sum(dim=1)
        loss = -log_likelihood.mean()
        if torch.isnan(loss) or torch.isinf(loss):
            raise ValueError("loss is nan")
        loss.backward()
        optimizer.step()
        total += loss.item()
        mse += F.mse_loss(rec.mean().unsqueeze(1), image).item()
    print(f"epoch {epoch:2d}: loss {total / len(loader):9.2f}  rec_mse {mse / len(loader):.4f}  scale {F.softplus(model.raw_scale).item():.3f}")
