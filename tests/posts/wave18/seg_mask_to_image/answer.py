import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NUM_LABELS = 19


def draw_face_mask(rng, size):
    mask = np.zeros((size, size), dtype=np.uint8)
    for part in range(1, 8):
        y, x = rng.integers(0, size - 16, 2)
        h, w = rng.integers(6, 16, 2)
        mask[y:y + h, x:x + w] = part
    return mask


def mask_to_onehot(mask):
    label_count = NUM_LABELS
    onehot = np.zeros((label_count,) + mask.shape, dtype=np.float32)
    rows, cols = np.indices(mask.shape)
    onehot[mask, rows, cols] = 1.0
    return torch.from_numpy(onehot)


class MaskFolder(Dataset):
    def __init__(self, count, size, seed=0):
        rng = np.random.default_rng(seed)
        self.masks = [draw_face_mask(rng, size) for _ in range(count)]

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, idx):
        return mask_to_onehot(self.masks[idx]), idx


class StyleEncoder(nn.Module):
    def __init__(self, input_nc, n_styles=8, dim=64):
        super().__init__()
        self.input_layer = nn.Sequential(nn.Conv2d(input_nc, 32, 3, padding=1, bias=False),
                                         nn.BatchNorm2d(32), nn.PReLU(32))
        self.body = nn.Sequential(nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.PReLU(64),
                                  nn.Conv2d(64, 64, 3, stride=2, padding=1), nn.PReLU(64),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.styles = nn.ModuleList(nn.Linear(64, dim) for _ in range(n_styles))

    def forward(self, x):
        x = self.body(self.input_layer(x))
        return torch.stack([style(x) for style in self.styles], dim=1)


class Generator(nn.Module):
    def __init__(self, n_styles=8, dim=64):
        super().__init__()
        self.start = nn.Linear(n_styles * dim, 32 * 8 * 8)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
                                nn.Upsample(scale_factor=2), nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())

    def forward(self, codes):
        x = self.start(codes.flatten(1)).view(-1, 32, 8, 8)
        return self.up(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--size', type=int, default=64)
    parser.add_argument('--count', type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(1)

    encoder = StyleEncoder(NUM_LABELS).eval()
    decoder = Generator().eval()
    loader = DataLoader(MaskFolder(args.count, args.size), batch_size=1)

    with torch.no_grad():
        for mask, idx in loader:
            codes = encoder(mask)
            image = decoder(codes)
            print(int(idx), tuple(image.shape), f'{image.mean().item():.4f}')


if __name__ == '__main__':
    main()
