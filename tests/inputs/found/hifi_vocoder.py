import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm

LRELU_SLOPE = 0.1


def get_padding(kernel_size, dilation=1):
    return (kernel_size * dilation - dilation) // 2


class ResBlock(nn.Module):
    def __init__(self, channels, kernel_size=3, dilation=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList(
            weight_norm(
                nn.Conv1d(
                    channels,
                    channels,
                    kernel_size,
                    dilation=d,
                    padding=get_padding(kernel_size, d),
                )
            )
            for d in dilation
        )

    def forward(self, x):
        for c in self.convs:
            x = c(F.leaky_relu(x, LRELU_SLOPE)) + x
        return x


class Generator(nn.Module):
    def __init__(self, num_mels=80, initial=16, rates=(8, 4), kernels=(16, 8)):
        super().__init__()
        self.conv_pre = weight_norm(nn.Conv1d(num_mels, initial, 7, 1, padding=3))
        self.ups = nn.ModuleList()
        self.resblocks = nn.ModuleList()
        for i, (u, k) in enumerate(zip(rates, kernels)):
            width = initial // 2 ** (i + 1)
            self.ups.append(
                weight_norm(
                    nn.ConvTranspose1d(2 * width, width, k, u, padding=(k - u) // 2)
                )
            )
            self.resblocks.append(ResBlock(width))
        self.conv_post = weight_norm(nn.Conv1d(width, 1, 7, 1, padding=3))

    def forward(self, mel):
        x = self.conv_pre(mel)
        for up, block in zip(self.ups, self.resblocks):
            x = block(up(F.leaky_relu(x, LRELU_SLOPE)))
        return torch.tanh(self.conv_post(F.leaky_relu(x)))
