import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def stripes(n, seed, brightness=0.0, contrast=1.0):
    """Stripe images: the period (task A) and the orientation (task B) vary."""
    g = torch.Generator().manual_seed(seed)
    period = torch.randint(0, 3, (n,), generator=g)
    orient = torch.randint(0, 2, (n,), generator=g)
    ramp = torch.arange(16).float()
    freq = torch.tensor([0.8, 1.4, 2.2])[period].view(-1, 1)
    wave = torch.sin(freq * ramp + 6.28 * torch.rand(n, 1, generator=g))
    img = wave.unsqueeze(1).expand(n, 16, 16).clone()
    img[orient == 1] = img[orient == 1].transpose(1, 2)
    img = contrast * (img + 0.4 * torch.randn(n, 16, 16, generator=g)) + brightness
    return img.unsqueeze(1), period, orient


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )

    def forward(self, x):
        return self.layers(x)


class Model(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def train(model, x, y, epochs, freeze=False):
    if freeze:
        for p in model.backbone.parameters():
            p.requires_grad_(False)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    for epoch in range(epochs):
        model.train()
        if freeze:
            model.backbone.eval()
        for xb, yb in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
xa, period, _ = stripes(800, seed=1)
xa_test, period_test, _ = stripes(300, seed=2)
backbone = Backbone()
task_a = Model(backbone, classes=3)
train(task_a, xa, period, epochs=4)
print(f"task A after its training     {accuracy(task_a, xa_test, period_test):.3f}")

xb, _, orient = stripes(600, seed=3, contrast=3.0)
xb_test, _, orient_test = stripes(300, seed=4, contrast=3.0)
task_b = Model(backbone, classes=2)
train(task_b, xb, orient, epochs=8, freeze=True)
print(f"task B with frozen backbone   {accuracy(task_b, xb_test, orient_test):.3f}")
print(f"task A after task B           {accuracy(task_a, xa_test, period_test):.3f}")
