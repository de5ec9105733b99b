from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import squeezenet1_1


def unit_norm(feat, eps=1e-10):
    return feat / (feat.pow(2).sum(dim=1, keepdim=True).sqrt() + eps)


class Shift(nn.Module):
    """Brings images in [-1, 1] to the statistics of the backbone."""

    def __init__(self):
        super().__init__()
        self.register_buffer('mean', torch.tensor([-.030, -.088, -.188]).view(1, 3, 1, 1))
        self.register_buffer('std', torch.tensor([.458, .448, .450]).view(1, 3, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


class FeaturePyramid(nn.Module):
    cuts = (2, 5, 8, 10)

    def __init__(self):
        super().__init__()
        layers = squeezenet1_1(weights=None).features
        self.stages = nn.ModuleList()
        start = 0
        for cut in self.cuts:
            self.stages.append(nn.Sequential(*[layers[i] for i in range(start, cut)]))
            start = cut
        for p in self.parameters():
            p.requires_grad = False

    def forward(self, x):
        outs = OrderedDict()
        for i, stage in enumerate(self.stages):
            x = stage(x)
            outs['stage%d' % i] = x
        return outs


class PerceptualDistance(nn.Module):
    def __init__(self, spatial=False):
        super().__init__()
        self.shift = Shift()
        self.net = FeaturePyramid()
        self.spatial = spatial

    def forward(self, img0, img1, rescale=False):
        # set rescale=True for images in [0, 1], they are mapped to [-1, 1]
        if rescale:
            target = 2 * target - 1
            pred = 2 * pred - 1

        feats0 = self.net(self.shift(img0))
        feats1 = self.net(self.shift(img1))
        total = 0
        for name in feats0:
            diff = (unit_norm(feats0[name]) - unit_norm(feats1[name])).pow(2).sum(1, keepdim=True)
            if self.spatial:
                total = total + F.interpolate(diff, size=img0.shape[2:], mode='bilinear', align_corners=False)
            else:
                total = total + diff.mean(dim=(2, 3), keepdim=True)
        return total


class Inpainter(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(4, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width * 2, 4, stride=2, padding=1), nn.ReLU())
        self.up = nn.Sequential(
            nn.ConvTranspose2d(width * 2, width, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1), nn.Sigmoid())

    def forward(self, img, hole):
        x = torch.cat([img * (1 - hole), hole], dim=1)
        return self.up(self.down(x))


def make_images(n=24, size=64):
    g = torch.Generator().manual_seed(3)
    base = torch.rand(n, 3, 4, 4, generator=g)
    images = F.interpolate(base, size=size, mode='bicubic', align_corners=False).clamp(0, 1)
    holes = torch.zeros(n, 1, size, size)
    corner = torch.randint(8, 36, (n, 2), generator=g)
    for i, (r, c) in enumerate(corner.tolist()):
        holes[i, :, r:r + 16, c:c + 16] = 1
    return TensorDataset(images, holes)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_images(), batch_size=8, shuffle=True)
    model = Inpainter()
    percep = PerceptualDistance().eval()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(2):
        for step, (img, hole) in enumerate(loader):
            out = model(img, hole)
            l1 = F.l1_loss(out, img)
            lp = percep(out, img, rescale=True).mean()
            loss = l1 + 0.1 * lp
            opt.zero_grad()
            loss.backward()
            opt.step()
            print('epoch %d step %d  l1 %.4f  perceptual %.4f' % (epoch, step, l1.item(), lp.item()))


if __name__ == '__main__':
    main()
