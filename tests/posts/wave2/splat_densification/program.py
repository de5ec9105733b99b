import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Splats(nn.Module):
    def __init__(self, n=60):
        super().__init__()
        self.means = nn.Parameter(torch.rand(n, 3) * 2 - 1)
        self.log_scales = nn.Parameter(torch.full((n,), math.log(0.15)))
        self.opacities = nn.Parameter(torch.logit(torch.full((n,), 0.3)))
        self.colors = nn.Parameter(torch.rand(n, 3))


def rasterization(splats, viewmat, focal, width, height):
    """a plain 2-D Gaussian renderer; returns the picture and what the strategy needs"""
    cam = splats.means @ viewmat[:3, :3].t() + viewmat[:3, 3]
    depth = cam[:, 2].clamp_min(0.1)
    means2d = cam[:, :2] / depth[:, None] * focal + cam.new_tensor([width / 2, height / 2])
    radii = (splats.log_scales.exp() / depth * focal).clamp_min(0.5)
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing='ij')
    pixels = torch.stack([xs, ys], dim=-1).reshape(-1, 1, 2).float() + 0.5
    d2 = ((pixels - means2d[None]) ** 2).sum(-1) / radii[None] ** 2
    alpha = torch.sigmoid(splats.opacities)[None] * torch.exp(-0.5 * d2)
    weights = alpha / (alpha.sum(1, keepdim=True) + 0.1)
    image = (weights @ splats.colors.sigmoid()).reshape(height, width, 3)
    return image, {'means2d': means2d, 'radii': radii, 'width': width, 'height': height}


torch.manual_seed(42)
width, height, focal = 32, 24, 30.0
viewmat = torch.eye(4)
viewmat[2, 3] = 4.0
target = torch.rand(3, 6, 8)
target = F.interpolate(target[None], size=(height, width), mode='bilinear')[0].permute(1, 2, 0)

splats = Splats()
optimizer = torch.optim.Adam(splats.parameters(), lr=1e-2)
grad2d = torch.zeros(len(splats.means))
count = torch.zeros(len(splats.means))

for step in range(30):
    image, info = rasterization(splats, viewmat, focal, width, height)
    loss = 0.8 * F.l1_loss(image, target) + 0.2 * F.mse_loss(image, target)
    optimizer.zero_grad()
    loss.backward()

    # accumulate the screen space gradients that decide which Gaussians are split
    grads = info['means2d'].grad.clone()
    grads[:, 0] *= info['width'] / 2.0
    grads[:, 1] *= info['height'] / 2.0
    visible = info['radii'] > 0.0
    grad2d[visible] += grads[visible].norm(dim=-1)
    count[visible] += 1
    optimizer.step()
    if step % 10 == 9:
        average = grad2d / count.clamp_min(1)
        is_grad_high = average > 0.0002
        print(f'step {step + 1} loss {loss.item():.4f} high {int(is_grad_high.sum())}')
        grad2d.zero_()
        count.zero_()
