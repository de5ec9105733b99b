import torch
import torch.nn as nn
import torch.nn.functional as F


class DenseUnit(nn.Module):
    def __init__(self, channels, growth, dilation):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, growth, 1)
        self.conv = nn.Conv2d(growth, growth, 3, padding=dilation, dilation=dilation)

    def forward(self, x):
        y = F.relu(self.squeeze(x))
        y = F.relu(self.conv(y))
        return torch.cat([y, x], 1)


class DenseBranch(nn.Module):
    def __init__(self, n_feats, n_units=3):
        super().__init__()
        units, channels = [], n_feats
        for i in range(n_units):
            units.append(DenseUnit(channels, n_feats, i + 1))
            channels += n_feats
        self.units = nn.Sequential(*units)
        self.fuse = nn.Conv2d(channels, n_feats, 1)

    def forward(self, x):
        return x + self.fuse(self.units(x))


class QuadrantMixing(nn.Module):
    """lets the four quarters of the feature map see each other with a 1x1 conv"""

    def __init__(self, n_feats):
        super().__init__()
        self.mix = nn.Conv2d(4 * n_feats, 4 * n_feats, 1, bias=False)

    def forward(self, x):
        h, w = x.size(2) // 2, x.size(3) // 2
        quarters = [x[:, :, :h, :w], x[:, :, h:, :w], x[:, :, :h, w:], x[:, :, h:, w:]]
        q1, q2, q3, q4 = self.mix(torch.cat(quarters, 1)).chunk(4, dim=1)
        out = x.clone()
        out[:, :, :h, :w] = q1
        out[:, :, h:, :w] = q2
        out[:, :, :h, w:] = q3
        out[:, :, h:, w:] = q4
        return out


class AttentionBlock(nn.Module):
    def __init__(self, n_feats):
        super().__init__()
        self.bottom = DenseBranch(n_feats)
        self.top = QuadrantMixing(n_feats)
        self.gate = nn.Conv2d(n_feats, n_feats, 3, padding=1)

    def forward(self, x):
        features = self.bottom(x)
        mask = self.top(x)
        mask = torch.sigmoid(self.gate(mask + mask.mean(dim=(2, 3), keepdim=True)))
        return features * mask


class SRNet(nn.Module):
    def __init__(self, n_feats=16, scale=2):
        super().__init__()
        self.first = nn.Conv2d(3, n_feats, 3, padding=1)
        self.body1 = AttentionBlock(n_feats)
        self.body2 = AttentionBlock(n_feats)
        self.tail = nn.Conv2d(2 * n_feats, n_feats, 1)
        self.up = nn.Sequential(nn.Conv2d(n_feats, 3 * scale ** 2, 3, padding=1),
                                nn.PixelShuffle(scale))

    def forward(self, x):
        first = F.relu(self.first(x))
        b1 = self.body1(first)
        b2 = self.body2(b1)
        return self.up(self.tail(torch.cat([b1, b2], 1)))


def make_batches(n_batches=12, batch_size=4, size=48):
    g = torch.Generator().manual_seed(1)
    for _ in range(n_batches):
        noise = torch.rand(batch_size, 3, size // 8, size // 8, generator=g)
        hr = F.interpolate(noise, size=size, mode='bicubic', align_corners=False).clamp(0, 1)
        yield F.avg_pool2d(hr, 2), hr


def main():
    torch.manual_seed(0)
    model = SRNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.L1Loss()
    for epoch in range(3):
        total = 0.0
        for i, (lr_img, hr_img) in enumerate(make_batches()):
            sr = model(lr_img)
            loss = criterion(sr, hr_img)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('[epoch %d] L1 %.4f' % (epoch + 1, total / (i + 1)))


if __name__ == '__main__':
    main()
