import math

import torch
import torch.nn as nn

CHANNELS = 16
GAMMA = 1.2
BETA = 0.15


class TorchBlock(nn.Module):
    """Reference block, as it is in the training code."""

    def __init__(self):
        super(TorchBlock, self).__init__()
        self.conv = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.bn = nn.BatchNorm2d(CHANNELS, track_running_stats=False)
        nn.init.constant_(self.bn.weight, GAMMA)
        nn.init.constant_(self.bn.bias, BETA)

    def forward(self, x):
        x = self.conv(x)
        x = self.bn(x)
        return torch.relu(x)


class PortedBlock(nn.Module):
    """Same block written out from the formula, to be carried over to the C code."""

    def __init__(self, eps=1e-5):
        super(PortedBlock, self).__init__()
        self.conv = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.eps = eps

    def forward(self, x):
        x = self.conv(x)
        mu = torch.mean(x)
        var = torch.var(x, unbiased=False)
        z = (x - mu) / torch.sqrt(var + self.eps)
        x = z * GAMMA + BETA
        return torch.relu(x)


def compare(ref, port, batch):
    with torch.no_grad():
        a = ref(batch)
        b = port(batch)
    diff = (a - b).abs()
    print('input %s' % (tuple(batch.shape),))
    print('  reference mean %.5f  std %.5f' % (a.mean().item(), a.std().item()))
    print('  ported    mean %.5f  std %.5f' % (b.mean().item(), b.std().item()))
    print('  largest difference %.6f' % diff.max().item())
    return diff.max().item()


torch.manual_seed(1)
ref = TorchBlock()
port = PortedBlock()
port.conv.load_state_dict(ref.conv.state_dict())
ref.eval()
port.eval()

frames = [torch.rand(1, 3, 2, 2), torch.rand(1, 3, 16, 16), torch.rand(4, 3, 24, 32)]
worst = 0.0
for frame in frames:
    worst = max(worst, compare(ref, port, frame))

tolerance = math.pow(10, -4)
if worst < tolerance:
    print('port is fine')
else:
    print('port differs from the reference by %.4f' % worst)
