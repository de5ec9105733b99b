import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SHAPES = [(96, 128), (90, 160)]


def write_photos(folder, n=24):
    rng = np.random.default_rng(2)
    for i in range(n):
        h, w = SHAPES[int(rng.integers(len(SHAPES)))]
        mask = np.zeros((h, w), dtype=np.uint8)
        horizon = int(rng.integers(h // 3, 2 * h // 3))
        mask[horizon:] = 1
        c = int(rng.integers(0, w - 30))
        mask[horizon - 15:horizon + 5, c:c + 30] = 2
        palette = np.array([[120, 170, 230], [90, 90, 90], [180, 120, 60]])
        img = palette[mask] + rng.normal(0, 10, size=(h, w, 3))
        np.savez(os.path.join(folder, '%03d.npz' % i), image=img.clip(0, 255).astype(np.uint8), mask=mask)


class Rescale:
    def __init__(self, output_size):
        self.output_size = output_size

    def __call__(self, sample):
        image, mask = sample
        h, w = image.shape[1:]
        if h > w:
            new_h, new_w = self.output_size * h // w, self.output_size
        else:
            new_h, new_w = self.output_size, self.output_size * w // h
        image = F.interpolate(image[None], size=(new_h, new_w), mode='bilinear', align_corners=False)[0]
        mask = F.interpolate(mask[None, None].float(), size=(new_h, new_w), mode='nearest')[0, 0].long()
        return image, mask


class FolderDataset(Dataset):
    def __init__(self, folder, transform):
        self.files = [os.path.join(folder, f) for f in sorted(os.listdir(folder))]
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        with np.load(self.files[i]) as f:
            image = torch.from_numpy(f['image']).permute(2, 0, 1).float() / 255
            mask = torch.from_numpy(f['mask'])
        return self.transform((image, mask))


class FCN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.score2 = nn.Conv2d(32, n_classes, 1)
        self.score1 = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.score2(self.down2(a))
        s = self.score1(a) + F.interpolate(b, size=a.shape[2:], mode='bilinear', align_corners=False)
        return F.interpolate(s, size=x.shape[2:], mode='bilinear', align_corners=False)


def train(folder, batch_size=4, n_epochs=2):
    data = FolderDataset(folder, Rescale(64))
    loader = DataLoader(data, batch_size=batch_size, shuffle=True)
    model = FCN(n_classes=3)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(n_epochs):
        losses = []
        for image, mask in loader:
            loss = F.cross_entropy(model(image), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print('epoch', epoch, 'loss %.4f' % np.mean(losses))


if __name__ == '__main__':
    torch.manual_seed(5)
    with tempfile.TemporaryDirectory() as folder:
        write_photos(folder)
        train(folder)
