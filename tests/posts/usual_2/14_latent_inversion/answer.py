import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"


class Generator(nn.Module):
    def __init__(self, z_dim=64, channels=32):
        super().__init__()
        self.fc = nn.Linear(z_dim, channels * 4 * 4)
        self.channels = channels
        self.up = nn.Sequential(
            nn.ConvTranspose2d(channels, channels, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(channels // 2, 3, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, z):
        h = F.relu(self.fc(z)).view(-1, self.channels, 4, 4)
        return self.up(h)


class FeatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv2(F.relu(self.conv1(x)))


def invert(generator, features, target, z_dim=64, steps=60, lr=0.05):
    """Find the latent code whose image looks like the target."""
    z = (torch.randn(target.size(0), z_dim, device=device) * 0.5).requires_grad_()
    optimizer = torch.optim.Adam([z], lr=lr)
    with torch.no_grad():
        target_features = features(target)
    for step in range(steps):
        optimizer.zero_grad()
        image = generator(z)
        pixel_loss = F.mse_loss(image, target)
        perceptual_loss = F.mse_loss(features(image), target_features)
        loss = pixel_loss + 0.1 * perceptual_loss + 1e-3 * z.pow(2).mean()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} loss {loss.item():.5f}")
    return z.detach()


torch.manual_seed(0)
generator = Generator().to(device).eval()
features = FeatureNet().to(device).eval()
for net in (generator, features):
    for p in net.parameters():
        p.requires_grad_(False)

with torch.no_grad():
    target = generator(torch.randn(4, 64, device=device))

codes = invert(generator, features, target)
print("codes:", tuple(codes.shape), "norm", codes.norm(dim=1).mean().item())
