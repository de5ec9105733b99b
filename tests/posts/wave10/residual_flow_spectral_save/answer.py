import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Linear(object):
    def __call__(self, w, x):
        return F.linear(x, w)


class LinearT(object):
    def __call__(self, w, y):
        return F.linear(y, w.t())


class Conv(object):
    def __init__(self, func, stride, padding):
        self.func, self.stride, self.padding = func, stride, padding

    def __call__(self, w, x):
        return self.func(x, w, stride=self.stride, padding=self.padding)


class SpectralNorm(object):
    """Bounds the norm of a convolution or linear map; the power method works with the map itself."""

    def __init__(self, name='weight', n_power_iterations=1, magnitude=0.9, eps=1e-12):
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.magnitude = magnitude
        self.eps = eps
        self.func = Linear()
        self.func_t = LinearT()

    def use_conv(self, stride, padding):
        self.func = Conv(F.conv2d, stride, padding)
        self.func_t = Conv(F.conv_transpose2d, stride, padding)

    def compute_weight(self, module):
        weight = getattr(module, self.name + '_orig')
        u = getattr(module, self.name + '_u')
        with torch.no_grad():
            for _ in range(self.n_power_iterations):
                v = self.func(weight, u)
                v = v / (v.norm() + self.eps)
                u = self.func_t(weight, v)
                u = u / (u.norm() + self.eps)
            getattr(module, self.name + '_u').copy_(u)
        sigma = torch.sum(v * self.func(weight, u))
        return weight * torch.clamp(self.magnitude / (sigma + self.eps), max=1.0)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def spectral_norm(module, magnitude=0.9, n_power_iterations=2, input_shape=None):
    fn = SpectralNorm(n_power_iterations=n_power_iterations, magnitude=magnitude)
    weight = module._parameters['weight']
    if isinstance(module, nn.Conv2d):
        fn.use_conv(module.stride, module.padding)
        u = torch.randn(1, module.in_channels, *input_shape)
    else:
        u = torch.randn(1, module.in_features)
    del module._parameters['weight']
    module.register_parameter('weight_orig', weight)
    module.register_buffer('weight_u', u / u.norm())
    module.weight = weight.data
    module.register_forward_pre_hook(fn)
    return module


class ResidualBlock(nn.Module):
    def __init__(self, channels, hidden, shape):
        super().__init__()
        self.net = nn.Sequential(
            nn.ELU(), spectral_norm(nn.Conv2d(channels, hidden, 3, padding=1), input_shape=shape),
            nn.ELU(), spectral_norm(nn.Conv2d(hidden, channels, 3, padding=1), input_shape=shape))

    def forward(self, x):
        return x + self.net(x)

    def inverse(self, y, iterations=20):
        x = y
        for _ in range(iterations):
            x = y - self.net(x)
        return x


class IResNet(nn.Module):
    def __init__(self, num_classes=10, n_blocks=3, shape=(16, 16)):
        super().__init__()
        self.blocks = nn.Sequential(*[ResidualBlock(3, 16, shape) for _ in range(n_blocks)])
        self.fc = spectral_norm(nn.Linear(3 * shape[0] * shape[1], num_classes))

    def forward(self, x):
        return self.fc(self.blocks(x).flatten(1))


loader = DataLoader(TensorDataset(torch.randn(64, 3, 16, 16), torch.randint(0, 10, (64,))), batch_size=16)
model = IResNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

path = os.path.join(tempfile.mkdtemp(), 'gouk.pth')
torch.save(model, path)
print('saved', os.path.getsize(path))
