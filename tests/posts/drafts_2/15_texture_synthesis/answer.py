import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)

STEPS = 60
SIZE = 48


def stripes(size, period=8):
    x = torch.arange(size).float()
    wave = 0.5 + 0.5 * torch.sin(2 * torch.pi * (x[None, :] + x[:, None]) / period)
    return torch.stack([wave, 0.6 * wave, 1 - wave]).unsqueeze(0)


class FeatureNet(nn.Module):
    """Small random network for texture features."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Conv2d(3, 16, 5, padding=2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.Conv2d(32, 32, 3, padding=1),
        ])

    def forward(self, x):
        features = []
        for conv in self.layers:
            x = F.relu(conv(x))
            features.append(x)
            x = F.avg_pool2d(x, 2)
        return features


def gram_matrix(feat):
    b, c, h, w = feat.shape
    flat = feat.view(b, c, h * w)
    return torch.bmm(flat, flat.transpose(1, 2)) / (h * w)


def style_loss(grams, target_grams):
    return sum(F.mse_loss(g, t) for g, t in zip(grams, target_grams))


def total_variation(img):
    dh = (img[:, :, 1:, :] - img[:, :, :-1, :]).abs().mean()
    dw = (img[:, :, :, 1:] - img[:, :, :, :-1]).abs().mean()
    return dh + dw


net = FeatureNet()
net.eval()

texture = stripes(SIZE)
target_grams = [gram_matrix(f).detach() for f in net(texture)]

canvas = (torch.rand(1, 3, SIZE, SIZE) * 0.2 + 0.4).requires_grad_()
optimizer = torch.optim.Adam([canvas], lr=0.02)

history = []
for step in range(STEPS):
    optimizer.zero_grad()
    grams = [gram_matrix(f) for f in net(canvas)]
    s_loss = style_loss(grams, target_grams)
    loss = 1000 * s_loss + 0.01 * total_variation(canvas)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        canvas.clamp_(0, 1)
    history.append(s_loss.item())
    if step % 20 == 0:
        print(f"step {step:3d}  style {history[-1]:.6f}")

result = canvas.detach().squeeze(0).permute(1, 2, 0).numpy()
print("final style loss:", history[-1])
print("image:", result.shape, result.min().round(3), result.max().round(3))
