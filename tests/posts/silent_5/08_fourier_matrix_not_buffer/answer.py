import io
import math
import torch
import torch.nn as nn


class FourierFeatures(nn.Module):
    def __init__(self, in_dim, n_features, scale=3.0):
        super().__init__()
        self.register_buffer("B", torch.randn(in_dim, n_features) * scale)

    def forward(self, coords):
        angles = 2 * math.pi * coords @ self.B
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ImageField(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = FourierFeatures(2, 64)
        self.mlp = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, coords):
        return self.mlp(self.encode(coords))


side = torch.linspace(0, 1, 32)
grid = torch.stack(torch.meshgrid(side, side, indexing="ij"), dim=-1).reshape(-1, 2)
image = (0.5 + 0.5 * torch.sin(9 * grid[:, :1]) * torch.cos(7 * grid[:, 1:]))

field = ImageField()
optimizer = torch.optim.Adam(field.parameters(), lr=2e-3)
for step in range(400):
    loss = nn.functional.mse_loss(field(grid), image)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained mse", nn.functional.mse_loss(field(grid).detach(), image).item())

checkpoint = io.BytesIO()
torch.save(field.state_dict(), checkpoint)
checkpoint.seek(0)

restored = ImageField()
print(restored.load_state_dict(torch.load(checkpoint)))
restored.eval()
with torch.no_grad():
    print("restored mse", nn.functional.mse_loss(restored(grid), image).item())
