import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE = 128
GAUSSIANS = 16500
MV = 6


class Gaussians(nn.Module):
    def __init__(self, n=GAUSSIANS):
        super().__init__()
        self.xyz = nn.Parameter(torch.randn(n, 3))
        self.scale = nn.Parameter(torch.full((n,), -3.0))
        self.opacity = nn.Parameter(torch.full((n,), -2.0))
        self.color = nn.Parameter(torch.rand(n, 3))

    def render(self, pose, pixels):
        points = self.xyz @ pose[:3, :3].T + pose[:3, 3]
        uv = points[:, :2] / points[:, 2:]
        dx = pixels[:, :1] - uv[:, 0]
        dy = pixels[:, 1:] - uv[:, 1]
        distance = dx * dx + dy * dy
        weight = torch.exp(-0.5 * distance * torch.exp(-2 * self.scale))
        weight = weight * torch.sigmoid(self.opacity)
        return (weight @ self.color) / (weight.sum(dim=1, keepdim=True) + 1e-6)


def make_views(n):
    views = []
    for i in range(n):
        angle = torch.tensor(2 * torch.pi * i / n)
        pose = torch.eye(4)
        pose[0, 0] = pose[2, 2] = angle.cos()
        pose[0, 2], pose[2, 0] = angle.sin(), -angle.sin()
        pose[2, 3] = 6.0
        views.append((pose, torch.rand(SIZE * SIZE, 3)))
    return views


device = torch.device("cuda")
views = make_views(60)
axis = torch.linspace(-0.5, 0.5, SIZE)
pixels = torch.cartesian_prod(axis, axis).to(device)
model = Gaussians().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for iteration in range(3000):
    loss = 0
    for j in range(MV):
        pose, target = views[(iteration * MV + j) % len(views)]
        image = model.render(pose.to(device), pixels)
        loss = loss + F.l1_loss(image, target.to(device)) / MV
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 100 == 0:
        print(iteration, loss.item())
