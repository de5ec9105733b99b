# line 12: the convolution kernel is an initialised plain tensor, which the optimizer does not get
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_kernel(out_channels, in_channels, size):
    kernel = torch.empty(out_channels, in_channels, size)
    nn.init.kaiming_uniform_(kernel, a=math.sqrt(5))
    return nn.Parameter(kernel)


class CausalConv(nn.Module):
    def __init__(self, cin, cout, size, dilation):
        super().__init__()
        self.pad, self.dilation = (size - 1) * dilation, dilation
        self.kernel = make_kernel(cout, cin, size)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x):
        x = F.pad(x, (self.pad, 0))
        return F.conv1d(x, self.kernel, self.bias, dilation=self.dilation)


class LoadForecaster(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.layers = nn.ModuleList(
            [CausalConv(1 if d == 1 else channels, channels, 3, d) for d in (1, 2, 4)]
        )
        self.readout = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return self.readout(x)


torch.manual_seed(7)
hours = torch.arange(600.0)
load = torch.sin(hours / 12 * math.pi) + 0.3 * torch.sin(hours / 84 * math.pi)
windows = load.unfold(0, 49, 3).unsqueeze(1)
train, test = windows[:140], windows[140:]
model = LoadForecaster()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for part in train[torch.randperm(len(train))].split(20):
        opt.zero_grad()
        F.mse_loss(model(part[..., :-1]), part[..., 1:]).backward()
        opt.step()
model.eval()
with torch.no_grad():
    print("mse", F.mse_loss(model(test[..., :-1]), test[..., 1:]).item())
