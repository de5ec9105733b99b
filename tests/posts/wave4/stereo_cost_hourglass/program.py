import torch
import torch.nn as nn
import torch.nn.functional as F


def convbn_3d(cin, cout, kernel, stride, pad):
    return nn.Sequential(nn.Conv3d(cin, cout, kernel, stride, pad, bias=False), nn.BatchNorm3d(cout))


class Hourglass(nn.Module):
    def __init__(self, planes=32):
        super().__init__()
        self.down1 = nn.Sequential(
            convbn_3d(planes, planes * 2, (1, 3, 3), (1, 2, 2), (0, 1, 1)), nn.ReLU(inplace=True))
        self.mix1 = nn.Sequential(convbn_3d(planes * 2, planes * 2, 3, 1, 1), nn.ReLU(inplace=True))
        self.up1 = nn.Sequential(
            nn.ConvTranspose3d(planes * 2, planes, kernel_size=(1, 3, 3), stride=(1, 2, 2),
                               padding=(0, 1, 1), output_padding=0, bias=False),
            nn.BatchNorm3d(planes))

    def forward(self, x):
        out = self.mix1(self.down1(x))
        return F.relu(self.up1(out) + x)


class CostRegularizer(nn.Module):
    """Turns left and right feature maps into a disparity map."""

    def __init__(self, channels=16, max_disp=32):
        super().__init__()
        self.max_disp = max_disp
        self.entry = nn.Sequential(convbn_3d(2 * channels, 32, 3, 1, 1), nn.ReLU(inplace=True))
        self.hourglass = nn.Sequential(Hourglass(32), Hourglass(32))
        self.classify = nn.Conv3d(32, 1, 3, padding=1, bias=False)

    def build_volume(self, left, right):
        b, c, h, w = left.shape
        volume = left.new_zeros(b, 2 * c, self.max_disp // 4, h, w)
        for d in range(self.max_disp // 4):
            volume[:, :c, d, :, d:] = left[:, :, :, d:]
            volume[:, c:, d, :, d:] = right[:, :, :, :w - d]
        return volume

    def forward(self, left, right):
        cost = self.entry(self.build_volume(left, right))
        cost = self.classify(self.hourglass(cost)).squeeze(1)
        prob = F.softmax(cost, dim=1)
        disp = torch.arange(prob.size(1), device=prob.device, dtype=prob.dtype).view(1, -1, 1, 1)
        return (prob * disp).sum(1) * 4
