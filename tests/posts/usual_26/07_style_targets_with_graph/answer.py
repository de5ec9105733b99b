import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import vgg11


class FeatureTaps(nn.Module):
    """Runs the first layers of VGG and returns what comes out at the tapped ones."""

    def __init__(self, taps, depth):
        super().__init__()
        self.layers = vgg11(weights=None).features[:depth]
        for i, layer in enumerate(self.layers):
            if isinstance(layer, nn.ReLU):
                self.layers[i] = nn.ReLU(inplace=False)
        self.taps = set(taps)

    def forward(self, image):
        found = {}
        for i, layer in enumerate(self.layers):
            image = layer(image)
            if i in self.taps:
                found[i] = image
        return found


class Normalize(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


def gram_matrix(features):
    b, c, h, w = features.shape
    flat = features.reshape(b, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)


def total_variation(img):
    dx = (img[..., :, 1:] - img[..., :, :-1]).abs().mean()
    dy = (img[..., 1:, :] - img[..., :-1, :]).abs().mean()
    return dx + dy


class StyleTransfer:
    STYLE_TAPS = (1, 4, 7)
    CONTENT_TAP = 7

    def __init__(self, content, style, style_weight=1e4, tv_weight=1e-2):
        self.net = nn.Sequential(Normalize(), FeatureTaps(self.STYLE_TAPS, depth=8)).eval()
        self.style_weight = style_weight
        self.tv_weight = tv_weight
        self.content_target = self.net(content)[self.CONTENT_TAP].detach()
        style_features = self.net(style)
        self.style_targets = {i: gram_matrix(style_features[i]).detach() for i in self.STYLE_TAPS}

    def losses(self, image):
        feats = self.net(image)
        content = F.mse_loss(feats[self.CONTENT_TAP], self.content_target)
        style = sum(F.mse_loss(gram_matrix(feats[i]), t) for i, t in self.style_targets.items())
        return content, self.style_weight * style, self.tv_weight * total_variation(image)

    def run(self, start, steps=12, lr=0.02):
        image = start.clone().requires_grad_(True)
        opt = torch.optim.Adam([image], lr=lr)
        for step in range(steps):
            opt.zero_grad()
            parts = self.losses(image)
            loss = sum(parts)
            loss.backward()
            opt.step()
            with torch.no_grad():
                image.clamp_(0, 1)
            if step % 4 == 0:
                print(step, " ".join(f"{p.item():.5f}" for p in parts))
        return image.detach()


def stripes(size, period):
    grid = torch.arange(size)
    bars = ((grid[None, :] + grid[:, None]) // period % 2).float()
    return torch.stack([bars, 1 - bars, bars * 0.5])[None]


if __name__ == "__main__":
    torch.manual_seed(21)
    content = torch.rand(1, 3, 8, 8)
    content = F.interpolate(content, size=64, mode="bilinear")
    style = stripes(64, 6)
    transfer = StyleTransfer(content, style)
    result = transfer.run(content)
    print("moved by", (result - content).abs().mean().item())
