import torch
import torch.nn as nn
import torch.nn.functional as F

Norm2d = nn.BatchNorm2d  # nn.SyncBatchNorm when several gpus are used


class HANet_Conv(nn.Module):
    """attention over the rows of an image: roads are below, the sky is above"""

    def __init__(self, in_channel, out_channel, kernel_size=3, r_factor=8, rows=16):
        super().__init__()
        mid_1_channel = max(in_channel // r_factor, 8)
        self.rows = rows
        self.attention_first = nn.Sequential(
            nn.Conv1d(in_channels=in_channel, out_channels=mid_1_channel, kernel_size=1, bias=False),
            nn.BatchNorm1d(mid_1_channel),
            nn.ReLU(inplace=True))
        self.position = nn.Parameter(torch.randn(1, mid_1_channel, rows) * 0.02)
        self.attention_second = nn.Sequential(
            nn.Conv1d(mid_1_channel, 2 * mid_1_channel, kernel_size, padding=kernel_size // 2, bias=True),
            nn.ReLU(inplace=True),
            nn.Conv1d(2 * mid_1_channel, out_channel, kernel_size, padding=kernel_size // 2, bias=True))

    def forward(self, x, out):
        h = out.size(2)
        a = F.adaptive_avg_pool2d(x, (self.rows, 1)).squeeze(3)
        a = self.attention_first(a) + self.position
        a = self.attention_second(a)
        a = torch.sigmoid(F.interpolate(a, size=h, mode='linear', align_corners=False))
        return out * a.unsqueeze(3)


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), Norm2d(cout), nn.ReLU(inplace=True))


class StreetNet(nn.Module):
    def __init__(self, num_classes=19):
        super().__init__()
        self.layer1 = nn.Sequential(conv_bn(3, 32, 2), conv_bn(32, 32))
        self.layer2 = nn.Sequential(conv_bn(32, 64, 2), conv_bn(64, 64))
        self.aspp = nn.Sequential(nn.Conv2d(64, 64, 3, padding=2, dilation=2, bias=False), Norm2d(64), nn.ReLU(inplace=True))
        self.hanet = HANet_Conv(64, 64)
        self.final = nn.Conv2d(64, num_classes, 1)
        self.criterion = nn.CrossEntropyLoss(ignore_index=255)

    def forward(self, x, gts=None):
        size = x.shape[2:]
        x = self.layer2(self.layer1(x))
        x = self.hanet(x, self.aspp(x))
        x = F.interpolate(self.final(x), size=size, mode='bilinear', align_corners=False)
        return self.criterion(x, gts) if self.training else x


def main():
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    net = StreetNet().to(device)
    optim = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optim, lambda it: (1 - it / 10) ** 0.9)
    net.train()
    for it in range(4):
        inputs = torch.randn(2, 3, 96, 192, device=device)
        gts = torch.randint(0, 19, (2, 96, 192), device=device)
        gts[:, :4] = 255
        optim.zero_grad()
        main_loss = net(inputs, gts)
        main_loss.backward()
        optim.step()
        scheduler.step()
        print('[iter %d], [train main loss %0.4f], [lr %0.5f]' % (it, main_loss.item(), scheduler.get_last_lr()[0]))


main()
