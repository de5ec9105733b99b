import torch
import torch.nn as nn
import torch.nn.functional as F


class Features(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.conv1 = nn.Conv2d(3, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv2(F.relu(self.conv1(x)))


def gram_matrix(feat):
    n, c, h, w = feat.shape
    g = torch.einsum("nchw,ndhw->cd", feat, feat)
    return g / (c * h * w)


class Model(nn.Module):
    """Style loss between stylised images and their style targets."""

    def __init__(self):
        super().__init__()
        self.features = Features()
        for p in self.features.parameters():
            p.requires_grad_(False)

    def forward(self, image, style):
        g_image = gram_matrix(self.features(image))
        g_style = gram_matrix(self.features(style))
        return g_image, F.mse_loss(g_image, g_style)


def example_inputs():
    return torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)
