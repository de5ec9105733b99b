import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.body(x)


class UNet3Plus(nn.Module):
    """three levels with full-scale skip connections"""

    def __init__(self, in_channels=1, n_classes=1, filters=(8, 16, 32), cat=8):
        super().__init__()
        f1, f2, f3 = filters
        self.enc1 = ConvBlock(in_channels, f1)
        self.enc2 = ConvBlock(f1, f2)
        self.enc3 = ConvBlock(f2, f3)
        self.h1_d2 = ConvBlock(f1, cat)
        self.h2_d2 = ConvBlock(f2, cat)
        self.h3_d2 = ConvBlock(f3, cat)
        self.fuse2 = ConvBlock(3 * cat, 3 * cat)
        self.h1_d1 = ConvBlock(f1, cat)
        self.d2_d1 = ConvBlock(3 * cat, cat)
        self.h3_d1 = ConvBlock(f3, cat)
        self.fuse1 = ConvBlock(3 * cat, 3 * cat)
        self.outconv1 = nn.Conv2d(3 * cat, n_classes, 3, padding=1)

    def forward(self, x):
        h1 = self.enc1(x)
        h2 = self.enc2(F.max_pool2d(h1, 2))
        h3 = self.enc3(F.max_pool2d(h2, 2))

        up = lambda t, s: F.interpolate(t, scale_factor=s, mode='bilinear', align_corners=False)
        hd2 = self.fuse2(torch.cat([self.h1_d2(F.max_pool2d(h1, 2)), self.h2_d2(h2),
                                    self.h3_d2(up(h3, 2))], 1))
        hd1 = self.fuse1(torch.cat([self.h1_d1(h1), self.d2_d1(up(hd2, 2)),
                                    self.h3_d1(up(h3, 4))], 1))
        d1 = self.outconv1(hd1)
        return d1


def make_scans(n, size=48, seed=0):
    """dark scans with one small bright lesion"""
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        cy, cx = torch.randint(8, size - 8, (2,), generator=g).tolist()
        r = int(torch.randint(3, 7, (1,), generator=g))
        masks[i, 0] = ((yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2).float()
    return 0.8 * masks + 0.3 * torch.randn(n, 1, size, size, generator=g), masks


@torch.no_grad()
def eval_net(net, images, masks):
    net.eval()
    pred = (torch.sigmoid(net(images)) > 0.5).float()
    dice = 2 * (pred * masks).sum() / (pred.sum() + masks.sum()).clamp(min=1)
    net.train()
    return dice.item()


def train_net(net, images, masks, val, epochs=6, batch_size=8, lr=1e-3):
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        epoch_loss = 0.0
        for idx in torch.randperm(len(images)).split(batch_size):
            masks_pred = net(images[idx])
            loss = criterion(masks_pred, masks[idx])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            optimizer.step()
            epoch_loss += loss.item() * len(idx)
        print('epoch %d loss %.4f val dice %.3f'
              % (epoch + 1, epoch_loss / len(images), eval_net(net, *val)))


def main():
    torch.manual_seed(0)
    images, masks = make_scans(64, seed=1)
    val = make_scans(16, seed=2)
    net = UNet3Plus(in_channels=1, n_classes=1)
    train_net(net, images, masks, val)


if __name__ == '__main__':
    main()
