# line 41: the loss keeps one value per sample for the importance weights and is never averaged; mended by: taking the mean of the weighted losses
import numpy as np
import torch
import torch.nn as nn


class HardExampleSampler:
    """Draws samples by their last loss and gives importance weights."""

    def __init__(self, n, alpha=0.6, seed=0):
        self.priority = np.ones(n)
        self.alpha = alpha
        self.rng = np.random.default_rng(seed)

    def draw(self, k):
        p = self.priority ** self.alpha
        p /= p.sum()
        idx = self.rng.choice(len(p), size=k, replace=False, p=p)
        w = 1.0 / (len(p) * p[idx])
        return idx, torch.tensor(w / w.max(), dtype=torch.float32)

    def update(self, idx, losses):
        self.priority[idx] = losses + 1e-3


class SmallCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
            nn.Flatten(), nn.Linear(64, n_classes),
        )

    def forward(self, x):
        return self.net(x)


def weighted_loss(logits, target, w):
    raw = nn.functional.cross_entropy(logits, target, reduction="none")
    return (raw * w).mean(), raw.detach()


torch.manual_seed(5)
n = 200
labels = torch.randint(4, (n,))
images = 0.5 * torch.randn(n, 1, 20, 20)
for i, k in enumerate(labels.tolist()):
    r, c = divmod(k, 2)
    images[i, 0, 10 * r:10 * r + 8, 10 * c:10 * c + 8] += 1.0

model = SmallCNN(4)
sampler = HardExampleSampler(n)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    idx, w = sampler.draw(24)
    logits = model(images[idx])
    loss, raw = weighted_loss(logits, labels[idx], w)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sampler.update(idx, raw.numpy())
    if step % 10 == 0:
        print(step, "mean raw loss", raw.mean().item())
