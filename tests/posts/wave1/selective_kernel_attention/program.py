from collections import OrderedDict

import torch
from torch import nn


class SKAttention(nn.Module):
    def __init__(self, channel=64, kernels=(1, 3, 5, 7), reduction=16, group=1, L=32):
        super().__init__()
        self.d = max(L, channel // reduction)
        self.convs = nn.ModuleList([])
        for k in kernels:
            self.convs.append(
                nn.Sequential(OrderedDict([
                    ('conv', nn.Conv2d(channel, channel, kernel_size=k, padding=k // 2, groups=group)),
                    ('bn', nn.BatchNorm2d(channel)),
                    ('relu', nn.ReLU())
                ]))
            )
        self.fc = nn.Linear(channel, self.d)
        self.fcs = nn.ModuleList([nn.Linear(self.d, channel) for _ in kernels])
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        bs, c, _, _ = x.size()
        # split
        conv_outs = [conv(x) for conv in self.convs]
        feats = torch.stack(conv_outs, 0)  # k,bs,channel,h,w

        # fuse
        U = sum(conv_outs)  # bs,c,h,w

        # reduction of channels
        S = U.mean(-1).mean(-1)  # bs,c
        Z = self.fc(S)  # bs,d

        # attention weights
        weights = []
        for fc in self.fcs:
            weight = fc(Z)
            weights.append(weight.view(bs, c, 1, 1))
        attention_weights = torch.stack(weights, 0)  # k,bs,channel,1,1
        attention_weights = self.softmax(attention_weights)  # k,bs,channel,1,1

        # select
        return (attention_weights * feats).sum(0)


class SKNetBlock(nn.Module):
    def __init__(self, in_channels=3, width=64, num_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(in_channels, width, 7, 2, 3, bias=False),
                                  nn.BatchNorm2d(width), nn.ReLU())
        self.sk = SKAttention(channel=width)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, num_classes))

    def forward(self, x):
        x = self.stem(x)
        return self.head(x + self.sk(x))
