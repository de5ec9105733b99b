import argparse
import os
import tempfile

import numpy as np
import PIL.Image
import torch
import torch.nn as nn
import torch.nn.functional as F


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(6, 24, 5, stride=2, padding=2), nn.PReLU(),
            nn.Conv2d(24, 32, 3, stride=2, padding=1), nn.PReLU(),
            nn.Conv2d(32, 4, 3, padding=1),
        )

    def forward(self, one, two):
        flow = self.body(torch.cat([one, two], 1))
        return F.interpolate(flow, size=one.shape[-2:], mode='bilinear', align_corners=False)


class Synthesis(nn.Module):
    def __init__(self):
        super().__init__()
        self.flow = FlowNet()
        self.merge = nn.Sequential(nn.Conv2d(6, 32, 3, padding=1), nn.PReLU(), nn.Conv2d(32, 3, 3, padding=1))

    def warp(self, image, flow):
        b, _, h, w = image.shape
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing='ij')
        grid = torch.stack([xs, ys], -1).expand(b, h, w, 2)
        step = torch.stack([flow[:, 0] * 2 / w, flow[:, 1] * 2 / h], -1)
        return F.grid_sample(image, grid + step, padding_mode='border', align_corners=True)

    def forward(self, one, two, time):
        flow = self.flow(one, two)
        warped_one = self.warp(one, flow[:, :2] * time)
        warped_two = self.warp(two, flow[:, 2:] * (1.0 - time))
        return self.merge(torch.cat([warped_one, warped_two], 1))


def read_frame(path):
    image = np.array(PIL.Image.open(path)).transpose(2, 0, 1)
    return torch.FloatTensor(np.ascontiguousarray(image[:, :, :].astype(np.float32) / 255.0))


def estimate(model, one, two, times):
    assert one.shape[1] == two.shape[1] and one.shape[2] == two.shape[2]
    height, width = one.shape[1], one.shape[2]

    one = one.view(1, 3, height, width)
    two = two.view(1, 3, height, width)

    pad_h = (32 - height % 32) % 32
    pad_w = (32 - width % 32) % 32
    one = F.pad(one, [0, pad_w, 0, pad_h], mode='replicate')
    two = F.pad(two, [0, pad_w, 0, pad_h], mode='replicate')
    return [model(one, two, t)[0, :, :height, :width] for t in times]


def record_screen(folder):
    rng = np.random.RandomState(3)
    texture = rng.randint(0, 255, size=(108, 240, 4), dtype=np.uint8)
    texture[..., 3] = 255
    for name, shift in (('first.png', 0), ('second.png', 12)):
        PIL.Image.fromarray(np.ascontiguousarray(texture[:, shift:shift + 192])).save(os.path.join(folder, name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--time', type=float, default=0.5)
    parser.add_argument('--out', default='result.png')
    args = parser.parse_args()

    torch.manual_seed(0)
    model = Synthesis().eval()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        record_screen(folder)
        one = read_frame(os.path.join(folder, 'first.png'))
        two = read_frame(os.path.join(folder, 'second.png'))
        output = estimate(model, one, two, [args.time])[0]
        result = (output.clip(0.0, 1.0).numpy().transpose(1, 2, 0) * 255.0).astype(np.uint8)
        PIL.Image.fromarray(result).save(os.path.join(folder, args.out))
        print('written', result.shape)


if __name__ == '__main__':
    main()
