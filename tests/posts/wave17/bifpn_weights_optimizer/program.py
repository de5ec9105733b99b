import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Conv(nn.Module):
    def __init__(self, c1, c2, k=1, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class BiFPN(nn.Module):
    """Weighted fusion of three scales, top-down and bottom-up."""

    def __init__(self, channels, epsilon=1e-4):
        super().__init__()
        self.epsilon = epsilon
        self.w1 = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.w2 = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.w3 = nn.Parameter(torch.ones(3, dtype=torch.float32), requires_grad=True)
        self.w4 = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.conv4_up, self.conv3_up = Conv(channels, channels, 3), Conv(channels, channels, 3)
        self.conv4_down, self.conv5_down = Conv(channels, channels, 3), Conv(channels, channels, 3)
        self.down3, self.down4 = Conv(channels, channels, 3, 2), Conv(channels, channels, 3, 2)

    def norm(self, w):
        w = F.relu(w)
        return w / (w.sum() + self.epsilon)

    def forward(self, p3, p4, p5):
        up = lambda t: F.interpolate(t, scale_factor=2, mode='nearest')
        a, b, c, d = (self.norm(w) for w in (self.w1, self.w2, self.w3, self.w4))
        p4_up = self.conv4_up(a[0] * p4 + a[1] * up(p5))
        p3_out = self.conv3_up(b[0] * p3 + b[1] * up(p4_up))
        p4_out = self.conv4_down(c[0] * p4 + c[1] * p4_up + c[2] * self.down3(p3_out))
        p5_out = self.conv5_down(d[0] * p5 + d[1] * self.down4(p4_out))
        return p3_out, p4_out, p5_out


class Detector(nn.Module):
    def __init__(self, nc=3, ch=32):
        super().__init__()
        self.stem = nn.Sequential(Conv(3, ch, 3, 2), Conv(ch, ch, 3, 2), Conv(ch, ch, 3, 2))
        self.c4, self.c5 = Conv(ch, ch, 3, 2), Conv(ch, ch, 3, 2)
        self.neck = BiFPN(ch)
        self.heads = nn.ModuleList(nn.Conv2d(ch, nc, 1) for _ in range(3))

    def forward(self, x):
        p3 = self.stem(x)
        p4 = self.c4(p3)
        p5 = self.c5(p4)
        return [h(p) for h, p in zip(self.heads, self.neck(p3, p4, p5))]


def build_optimizer(model, lr, momentum, weight_decay):
    decay, norms, biases = [], [], []
    for module in model.modules():
        weight, bias = getattr(module, 'weight', None), getattr(module, 'bias', None)
        if isinstance(bias, nn.Parameter):
            biases.append(bias)
        if isinstance(weight, nn.Parameter):
            (norms if isinstance(module, nn.BatchNorm2d) else decay).append(weight)
    groups = [{'params': norms}, {'params': decay, 'weight_decay': weight_decay}, {'params': biases}]
    print('parameter groups:', len(norms), 'norm,', len(decay), 'conv,', len(biases), 'bias')
    return torch.optim.SGD(groups, lr=lr, momentum=momentum, nesterov=True)


def make_data(n=192, size=64, nc=3):
    g = torch.Generator().manual_seed(0)
    images = 0.2 * torch.rand(n, 3, size, size, generator=g)
    target = torch.zeros(n, nc, size // 8, size // 8)
    for i in range(n):
        c = i % nc
        y, x = torch.randint(0, size // 8 - 1, (2,), generator=g).tolist()
        images[i, c, y * 8:y * 8 + 12, x * 8:x * 8 + 12] = 1.0
        target[i, c, y, x] = 1.0
    return TensorDataset(images, target)


def compute_loss(preds, target):
    loss = 0
    for p in preds:
        t = F.adaptive_max_pool2d(target, p.shape[-2:])
        loss = loss + F.binary_cross_entropy_with_logits(p, t, pos_weight=torch.tensor(10.0))
    return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--lr', type=float, default=0.02)
    opt = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=16, shuffle=True)
    model = Detector()
    optimizer = build_optimizer(model, opt.lr, 0.937, 5e-4)
    for epoch in range(opt.epochs):
        for images, target in loader:
            loss = compute_loss(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch}: loss {loss.item():.4f}')
    print({k: v.tolist() for k, v in model.state_dict().items() if k.startswith('neck.w')})


if __name__ == '__main__':
    main()
