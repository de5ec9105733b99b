import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(in_ch, out_ch, stride=1):
    return nn.Sequential(nn.Conv2d(in_ch, out_ch, 3, stride=stride, padding=1, bias=False),
                         nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True))


class HRNetEncoder(nn.Module):
    """stem of two strided convolutions, then parallel branches of falling resolution"""

    channels = [24, 16, 32, 48, 64]

    def __init__(self, layers=(1, 2, 3, 4)):
        super().__init__()
        self.layers = list(layers)
        self.stem = nn.Sequential(conv_bn(3, 24, stride=2), conv_bn(24, 24, stride=2))
        self.branch1 = conv_bn(24, 16)
        self.branch2 = conv_bn(16, 32, stride=2)
        self.branch3 = conv_bn(32, 48, stride=2)
        self.branch4 = conv_bn(48, 64, stride=2)

    @property
    def out_channels(self):
        return [self.channels[i] for i in self.layers]

    def forward(self, x):
        stem = self.stem(x)
        b1 = self.branch1(stem)
        b2 = self.branch2(b1)
        b3 = self.branch3(b2)
        b4 = self.branch4(b3)
        maps = [stem, b1, b2, b3, b4]
        return [maps[i] for i in self.layers]


class UnetDecoder(nn.Module):
    def __init__(self, feature_maps, unet_channels):
        super().__init__()
        self.blocks = nn.ModuleList()
        below = feature_maps[-1]
        for skip, out_ch in zip(feature_maps[-2::-1], unet_channels[::-1]):
            self.blocks.append(nn.Sequential(conv_bn(below + skip, out_ch), conv_bn(out_ch, out_ch)))
            below = out_ch
        self.out_channels = below

    def forward(self, feature_maps):
        x = feature_maps[-1]
        for skip, block in zip(feature_maps[-2::-1], self.blocks):
            x = F.interpolate(x, scale_factor=2, mode='nearest')
            x = block(torch.cat([x, skip], dim=1))
        return x


class UnetSegmentationModel(nn.Module):
    def __init__(self, encoder, num_classes, unet_channels, dropout=0.1):
        super().__init__()
        self.encoder = encoder
        self.decoder = UnetDecoder(encoder.out_channels, unet_channels)
        self.head = nn.Sequential(nn.Dropout2d(dropout),
                                  nn.Conv2d(self.decoder.out_channels, num_classes, 1))

    def forward(self, x):
        mask = self.head(self.decoder(self.encoder(x)))
        return F.interpolate(mask, size=x.shape[-2:], mode='bilinear', align_corners=False)


def hrnet_unet(num_classes, dropout=0.1):
    encoder = HRNetEncoder(layers=[1, 2, 3, 4])
    return UnetSegmentationModel(encoder, num_classes, unet_channels=[24, 32, 48], dropout=dropout)


def draw_cells(n, size=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    masks = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for k in (1, 2):
            cy, cx = torch.randint(12, size - 12, (2,), generator=g).tolist()
            masks[i][(yy - cy) ** 2 + (xx - cx) ** 2 < (8 + 3 * k) ** 2] = k
    images = F.one_hot(masks, 3).permute(0, 3, 1, 2).float()
    return images + 0.3 * torch.randn(n, 3, size, size, generator=g), masks


def main():
    torch.manual_seed(0)
    images, masks = draw_cells(48, seed=1)
    val_images, val_masks = draw_cells(16, seed=2)
    model = hrnet_unet(num_classes=3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(5):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(images)).split(8):
            loss = F.cross_entropy(model(images[idx]), masks[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = (model(val_images).argmax(1) == val_masks).float().mean().item()
        print('epoch %d loss %.3f pixel acc %.3f' % (epoch + 1, total / len(images), acc))


if __name__ == '__main__':
    main()
