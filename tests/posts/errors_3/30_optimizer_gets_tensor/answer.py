import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, latent=16, size=12):
        super().__init__()
        self.size = size
        self.fc = nn.Linear(latent, 8 * (size // 2) ** 2)
        self.up = nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)

    def forward(self, z):
        h = F.relu(self.fc(z)).view(-1, 8, self.size // 2, self.size // 2)
        return torch.sigmoid(self.up(h))


def invert(gen, target, steps=60, lr=0.05):
    """Find the latent code whose image comes nearest to the target."""
    for p in gen.parameters():
        p.requires_grad_(False)
    z = torch.zeros(target.size(0), 16, requires_grad=True)
    optimizer = torch.optim.Adam([z], lr=lr)
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(gen(z), target) + 1e-4 * z.pow(2).mean()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"{step:3d} {loss.item():.6f}")
    return z.detach()


gen = Generator().eval()
with torch.no_grad():
    secret = torch.randn(3, 16)
    target = gen(secret)
code = invert(gen, target)
print("distance", (code - secret).norm(dim=1))
