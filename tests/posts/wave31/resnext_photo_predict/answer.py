import os
import tempfile
from functools import reduce

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# ResNeXt rebuilt as nested nn.Sequential, the way a converter prints it


class LambdaBase(nn.Sequential):
    def __init__(self, fn, *args):
        super(LambdaBase, self).__init__(*args)
        self.lambda_func = fn

    def forward_prepare(self, input):
        return [module(input) for module in self._modules.values()] or input


class LambdaMap(LambdaBase):
    def forward(self, input):
        return list(map(self.lambda_func, self.forward_prepare(input)))


class LambdaReduce(LambdaBase):
    def forward(self, input):
        return reduce(self.lambda_func, self.forward_prepare(input))


def bottleneck(inp, width, out, stride=1):
    shortcut = nn.Sequential(nn.Conv2d(inp, out, 1, stride, bias=False), nn.BatchNorm2d(out))
    return nn.Sequential(
        LambdaMap(lambda x: x,
                  nn.Sequential(nn.Conv2d(inp, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                nn.Conv2d(width, width, 3, stride, 1, groups=8, bias=False),
                                nn.BatchNorm2d(width), nn.ReLU(),
                                nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)),
                  shortcut),
        LambdaReduce(lambda x, y: x + y),
        nn.ReLU(),
    )


def resnext_small(num_classes=12):
    blocks = [bottleneck(16, 16, 32), bottleneck(32, 32, 64, 2), bottleneck(64, 64, 128, 2)]
    return nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, num_classes),
    )


def make_photo(label, rng, size=64):
    """uint8 picture, height x width x channel, one colour and stripe width per class"""
    hue = np.array([label % 3, (label // 3) % 2, label % 4]) * 40 + 40
    stripes = (np.arange(size) // (2 + label) % 2)[None, :, None] * 60
    noise = rng.integers(0, 40, size=(size, size, 3))
    return np.clip(hue + stripes + noise, 0, 255).astype(np.uint8)


def prepare(img):
    inp = np.expand_dims(img.astype(np.float32), axis=0)
    inp = torch.from_numpy(inp)
    inp = inp.transpose(1, 3).transpose(2, 3)
    return (inp - 125) / 64


def write_weights(path):
    rng = np.random.default_rng(0)
    net = resnext_small()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(60):
        labels = rng.integers(0, 12, size=24)
        x = torch.cat([prepare(make_photo(l, rng)) for l in labels])
        loss = F.cross_entropy(net(x), torch.from_numpy(labels))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("weights written, last loss %.3f" % loss.item())
    torch.save(net.state_dict(), path)


torch.manual_seed(3)
weights = os.path.join(tempfile.mkdtemp(), "resnext_small.pth")
write_weights(weights)

resnext = resnext_small()
resnext.load_state_dict(torch.load(weights)); resnext.eval()

rng = np.random.default_rng(77)
right = 0
for label in range(12):
    x = prepare(make_photo(label, rng))
    with torch.no_grad():
        x = resnext(x)
    x = F.softmax(x, dim=1)
    guess = int(np.argmax(x.numpy()))
    right += guess == label
    print("photo of class %2d -> %2d (%.2f)" % (label, guess, x.max().item()))
print("%d of 12 right" % right)
