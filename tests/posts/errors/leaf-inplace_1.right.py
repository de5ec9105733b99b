# line 51: the synthesized image, a leaf that requires grad, is clamped in place; mended by: clamping its data, which autograd does not track
import torch
import torch.nn as nn
import torch.nn.functional as F


def gram(f):
    n, c, h, w = f.shape
    f = f.reshape(n, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


class RandomFeatures(nn.Module):
    """Untrained filters are good enough for textures."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU()),
            nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()),
        ])
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        outs = []
        for block in self.blocks:
            x = block(x)
            outs.append(x)
        return outs


def total_variation(img):
    dx = (img[..., 1:] - img[..., :-1]).abs().mean()
    dy = (img[..., 1:, :] - img[..., :-1, :]).abs().mean()
    return dx + dy


def stripes(size):
    ax = torch.arange(size).float()
    wave = 0.5 + 0.5 * torch.sin(ax[None, :] * 0.8 + ax[:, None] * 0.3)
    return torch.stack([wave, 1 - wave, wave ** 2]).unsqueeze(0)


def synthesize(texture, steps=15, tv_weight=0.05):
    net = RandomFeatures().eval()
    targets = [gram(f) for f in net(texture)]
    img = torch.rand_like(texture).requires_grad_(True)
    optimizer = torch.optim.Adam([img], lr=0.05)
    for i in range(steps):
        img.data.clamp_(0, 1)
        style = sum(F.mse_loss(gram(f), t) for f, t in zip(net(img), targets))
        loss = 1e3 * style + tv_weight * total_variation(img)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 5 == 0:
            print(f"step {i:3d} loss {loss.item():.4f}")
    return img.detach()


if __name__ == "__main__":
    torch.manual_seed(0)
    out = synthesize(stripes(32))
    print(out.shape, out.mean().item())
