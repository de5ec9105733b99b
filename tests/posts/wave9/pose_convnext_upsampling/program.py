import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.GroupNorm(1, dim)
        self.mlp = nn.Sequential(nn.Conv2d(dim, 4 * dim, 1), nn.GELU(), nn.Conv2d(4 * dim, dim, 1))

    def forward(self, x):
        return x + self.mlp(self.norm(self.dwconv(x)))


class ConvNextEncoder(nn.Module):
    def __init__(self, in_channels=1, channels=(16, 32, 64, 128), stem_kernel=4, stem_stride=2):
        super().__init__()
        self.stem = nn.Conv2d(in_channels, channels[0], stem_kernel, stem_stride, padding=1)
        self.stages = nn.ModuleList([Block(c) for c in channels])
        self.downs = nn.ModuleList([nn.Sequential(nn.GroupNorm(1, a), nn.Conv2d(a, b, 2, stride=2))
                                    for a, b in zip(channels[:-1], channels[1:])])

    def forward(self, x):
        features = [self.stages[0](self.stem(x))]
        for down, stage in zip(self.downs, self.stages[1:]):
            features.append(stage(down(features[-1])))
        return features[::-1]


class SimpleUpsamplingBlock(nn.Module):
    def __init__(self, x_in, skip_channels, out, up_interpolate=True):
        super().__init__()
        if up_interpolate:
            self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=False)
        else:
            self.up = nn.Sequential(nn.ConvTranspose2d(x_in, x_in, 3, 2, 1, output_padding=1), nn.ReLU())
        self.refine = nn.Sequential(nn.Conv2d(x_in + skip_channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(),
                                    nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU())

    def forward(self, x, feature):
        x = self.up(x)
        x = torch.cat((x, feature), dim=1)
        return self.refine(x)


class PoseModel(nn.Module):
    def __init__(self, num_parts=5, channels=(16, 32, 64, 128)):
        super().__init__()
        self.backbone = ConvNextEncoder(channels=channels)
        rev = channels[::-1]
        self.decoder_stack = nn.ModuleList([SimpleUpsamplingBlock(a, b, b) for a, b in zip(rev[:-1], rev[1:])])
        self.head = nn.Conv2d(channels[0], num_parts, 1)

    def forward(self, x):
        features = self.backbone(x)
        x = features[0]
        for block, skip in zip(self.decoder_stack, features[1:]):
            x = block(x, skip)
        return self.head(x)


def make_confmaps(points, size, sigma=2.5, stride=2):
    ys = torch.arange(0, size, stride).float()
    d = (ys[None, None, :, None] - points[:, :, 1, None, None]) ** 2 + (ys[None, None, None, :] - points[:, :, 0, None, None]) ** 2
    return torch.exp(-d / (2 * sigma ** 2))


def main(crop_size=100, num_parts=5, epochs=2):
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    points = torch.rand(24, num_parts, 2) * crop_size
    frames = F.interpolate(make_confmaps(points, crop_size).sum(1, keepdim=True), size=(crop_size, crop_size))
    frames = (frames + 0.1 * torch.randn_like(frames)).clamp(0, 1)
    train = DataLoader(TensorDataset(frames, make_confmaps(points, crop_size)), batch_size=4, shuffle=True, drop_last=True)

    model = PoseModel(num_parts).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    for epoch in range(epochs):
        losses = []
        for x, y in train:
            loss = F.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f'epoch {epoch}: train/loss {sum(losses) / len(losses):.5f}')


if __name__ == '__main__':
    main()
