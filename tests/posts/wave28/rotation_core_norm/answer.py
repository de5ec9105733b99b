from collections import OrderedDict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RotationBatchNorm2d(nn.Module):
    """Batch norm whose statistics and affine weights are shared by all rotations of a feature."""

    def __init__(self, channels, num_rotations, momentum=0.1):
        super().__init__()
        self.num_rotations = num_rotations
        self.bn = nn.BatchNorm3d(channels // num_rotations, momentum=momentum)

    def forward(self, x):
        n, c, h, w = x.shape
        y = self.bn(x.view(n, c // self.num_rotations, self.num_rotations, h, w))
        return y.view(n, c, h, w)


class StackedCore(nn.Module):
    def __init__(self, input_channels, hidden_channels, input_kern, hidden_kern, layers=3, momentum=0.1):
        super().__init__()
        self.input_channels = input_channels
        self.hidden_channels = hidden_channels
        self.input_kern = input_kern
        self.hidden_kern = hidden_kern
        self.num_layers = layers
        self.momentum = momentum
        if not hasattr(self, "norm_cls"):
            self.norm_cls = nn.BatchNorm2d
        self.features = nn.Sequential()
        self.build()

    def make_conv(self, cin, cout, kern):
        return nn.Conv2d(cin, cout, kern, padding=kern // 2, bias=False)

    def build(self):
        for l in range(self.num_layers):
            cin = self.input_channels if l == 0 else self.hidden_channels
            kern = self.input_kern if l == 0 else self.hidden_kern
            block = OrderedDict()
            block["conv"] = self.make_conv(cin, self.hidden_channels, kern)
            block["norm"] = self.norm_cls(self.hidden_channels, momentum=self.momentum)
            block["nonlin"] = nn.ELU()
            self.features.add_module(f"layer{l}", nn.Sequential(block))

    def forward(self, x):
        return self.features(x)


class RotatedConv2d(nn.Module):
    """Each filter is applied in num_rotations orientations (multiples of 90 degrees)."""

    def __init__(self, cin, cout, kern, num_rotations):
        super().__init__()
        self.num_rotations = num_rotations
        self.padding = kern // 2
        self.weight = nn.Parameter(torch.empty(cout // num_rotations, cin, kern, kern))
        nn.init.xavier_normal_(self.weight)

    def forward(self, x):
        turned = [torch.rot90(self.weight, r, dims=(2, 3)) for r in range(self.num_rotations)]
        weight = torch.stack(turned, dim=1).flatten(0, 1)
        return F.conv2d(x, weight, padding=self.padding)


class RotationEquivariantCore(StackedCore):
    def __init__(self, *args, num_rotations=4, rot_eq_batch_norm=True, **kwargs):
        self.num_rotations = num_rotations
        if rot_eq_batch_norm:
            self.norm_cls = partial(RotationBatchNorm2d, num_rotations=num_rotations)
        super().__init__(*args, **kwargs)

    def make_conv(self, cin, cout, kern):
        return RotatedConv2d(cin, cout, kern, self.num_rotations)


class PointReadout(nn.Module):
    def __init__(self, channels, neurons):
        super().__init__()
        self.position = nn.Parameter(torch.empty(1, neurons, 1, 2).uniform_(-0.5, 0.5))
        self.weight = nn.Parameter(torch.randn(channels, neurons) * 0.05)
        self.bias = nn.Parameter(torch.zeros(neurons))

    def forward(self, x):
        grid = self.position.expand(x.size(0), -1, -1, -1)
        y = F.grid_sample(x, grid, align_corners=False).squeeze(-1)
        return F.elu((y * self.weight).sum(dim=1) + self.bias) + 1


class Encoder(nn.Module):
    def __init__(self, core, readout):
        super().__init__()
        self.core, self.readout = core, readout

    def forward(self, x):
        return self.readout(self.core(x))


def make_session(n, neurons, seed):
    g = torch.Generator().manual_seed(seed)
    images = torch.randn(n, 1, 24, 36, generator=g)
    filters = torch.randn(neurons, 1, 7, 7, generator=torch.Generator().manual_seed(9)) / 7
    drive = F.conv2d(images, filters)[:, :, 9, 15]
    return TensorDataset(images, torch.poisson(F.softplus(2 * drive), generator=g))


if __name__ == "__main__":
    torch.manual_seed(5)
    neurons = 40
    train_loader = DataLoader(make_session(512, neurons, 0), batch_size=64, shuffle=True)
    core = RotationEquivariantCore(1, 16, 7, 3, layers=3, num_rotations=4, rot_eq_batch_norm=True)
    model = Encoder(core, PointReadout(16, neurons))
    print(core.features.layer0)
    print("core parameters:", sum(p.numel() for p in core.parameters()))
    criterion = nn.PoissonNLLLoss(log_input=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(4):
        running = 0.0
        for image, response in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), response)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: poisson loss {running / len(train_loader):.4f}")
