import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv3x3(cin, cout, bias=True):
    return nn.Conv2d(cin, cout, 3, 1, 1, bias=bias)


class HalfNormBlock(nn.Module):
    """two convs, the first half of the channels goes through an instance norm"""

    def __init__(self, cin, cout, slope=0.2, use_hin=True):
        super(HalfNormBlock, self).__init__()
        self.use_hin = use_hin
        self.skip = nn.Conv2d(cin, cout, 1)
        self.first = conv3x3(cin, cout)
        self.second = conv3x3(cout, cout)
        self.act = nn.LeakyReLU(slope)
        if use_hin:
            self.norm = nn.InstanceNorm2d(cout // 2, affine=True)

    def forward(self, x):
        y = self.first(x)
        if self.use_hin:
            a, b = y.chunk(2, dim=1)
            y = torch.cat([self.norm(a), b], dim=1)
        y = self.act(self.second(self.act(y)))
        return y + self.skip(x)


class DownStage(nn.Module):
    def __init__(self, cin, cout, last=False, use_hin=True):
        super(DownStage, self).__init__()
        self.block = HalfNormBlock(cin, cout, use_hin=use_hin)
        self.pool = None if last else nn.Conv2d(cout, cout, 4, 2, 1, bias=False)

    def forward(self, x):
        out = self.block(x)
        if self.pool is None:
            return out, None
        return self.pool(out), out


class UpStage(nn.Module):
    def __init__(self, cin, cout):
        super(UpStage, self).__init__()
        self.up = nn.ConvTranspose2d(cin, cout, 2, 2)
        self.block = HalfNormBlock(cout * 2, cout, use_hin=False)

    def forward(self, x, bridge):
        up = self.up(x)
        return self.block(torch.cat([up, bridge], 1))


class DenoiseNet(nn.Module):
    def __init__(self, wf=16, depth=5, hin_from=0, hin_to=4):
        super(DenoiseNet, self).__init__()
        self.stem = conv3x3(3, wf)
        self.down, self.up, self.bridges = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        prev = wf
        for i in range(depth):
            hin = hin_from <= i <= hin_to
            self.down.append(DownStage(prev, (2 ** i) * wf, last=(i == depth - 1), use_hin=hin))
            prev = (2 ** i) * wf
        for i in reversed(range(depth - 1)):
            self.up.append(UpStage(prev, (2 ** i) * wf))
            self.bridges.append(conv3x3((2 ** i) * wf, (2 ** i) * wf))
            prev = (2 ** i) * wf
        self.last = conv3x3(prev, 3)

    def forward(self, x):
        feat = self.stem(x)
        kept = []
        for stage in self.down:
            feat, before = stage(feat)
            if before is not None:
                kept.append(before)
        for i, stage in enumerate(self.up):
            feat = stage(feat, self.bridges[i](kept[-i - 1]))
        return x + self.last(feat)


def img2tensor(img):
    img = img.astype(np.float32) / 255.
    return torch.from_numpy(img.transpose(2, 0, 1))


def tensor2img(t):
    t = t.squeeze(0).clamp(0, 1).permute(1, 2, 0)
    return (t.numpy() * 255.0).round().astype(np.uint8)


def load_my_photos(n=3):
    # phone pictures, already scaled down
    rng = np.random.RandomState(21)
    return [rng.randint(0, 256, size=(180, 320, 3), dtype=np.uint8) for _ in range(n)]


def main():
    torch.manual_seed(10)
    net = DenoiseNet(wf=16, depth=5)
    # net.load_state_dict(torch.load('HINet-SIDD-0.5x.pth')['params'])
    net.eval()
    print('params: %.2fM' % (sum(p.numel() for p in net.parameters()) / 1e6))

    results = []
    for idx, photo in enumerate(load_my_photos()):
        start = time.time()
        lq = img2tensor(photo).unsqueeze(0)
        h, w = lq.shape[2:]
        lq = F.pad(lq, (0, -w % 32, 0, -h % 32))
        with torch.no_grad():
            out = net(lq)[:, :, :h, :w]
        restored = tensor2img(out)
        results.append(restored)
        print('img %d  %s -> %s  %.2fs' % (idx, photo.shape, restored.shape, time.time() - start))

    diff = [np.abs(a.astype(int) - b.astype(int)).mean() for a, b in zip(load_my_photos(), results)]
    print('mean change', np.mean(diff))


if __name__ == '__main__':
    main()
