import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class NucleiPatches(Dataset):
    """Synthetic H&E like patches with nuclei masks and horizontal/vertical distance maps."""

    def __init__(self, n, size=80, seed=0):
        self.n, self.size = n, size
        self.rng = np.random.RandomState(seed)
        self.items = [self._draw() for _ in range(n)]

    def _draw(self):
        yy, xx = np.mgrid[:self.size, :self.size].astype('float32')
        img = np.full((self.size, self.size, 3), 220, 'float32')
        np_map = np.zeros((self.size, self.size), 'int64')
        hv_map = np.zeros((self.size, self.size, 2), 'float32')
        for _ in range(self.rng.randint(3, 7)):
            cy, cx = self.rng.randint(10, self.size - 10, 2)
            r = self.rng.randint(5, 10)
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            img[inside] = (110, 60, 150)
            np_map[inside] = 1
            hv_map[inside, 0] = ((xx - cx) / r)[inside]
            hv_map[inside, 1] = ((yy - cy) / r)[inside]
        img += self.rng.randn(*img.shape) * 6
        return img, np_map, hv_map

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        img, np_map, hv_map = self.items[i]
        return {'img': torch.from_numpy(img), 'np_map': torch.from_numpy(np_map), 'hv_map': torch.from_numpy(hv_map)}


class TwoBranchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.np_branch = self._decoder()
        self.hv_branch = self._decoder()

    def _decoder(self):
        return nn.Sequential(nn.Conv2d(32, 16, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2, mode='nearest'),
                             nn.Conv2d(16, 2, 1))

    def forward(self, imgs):
        feat = self.encoder(imgs / 255.0)
        return {'np': self.np_branch(feat), 'hv': self.hv_branch(feat)}


def gradient_hv(hv):
    r = torch.arange(-2, 3, dtype=torch.float32)
    v, h = torch.meshgrid(r, r, indexing='ij')
    kernel_h = (h / (h * h + v * v + 1e-15)).view(1, 1, 5, 5)
    kernel_v = (v / (h * h + v * v + 1e-15)).view(1, 1, 5, 5)
    h_ch = hv[..., 0].unsqueeze(1)
    v_ch = hv[..., 1].unsqueeze(1)
    h_dh = F.conv2d(h_ch, kernel_h, padding=2)
    v_dv = F.conv2d(v_ch, kernel_v, padding=2)
    return torch.cat([h_dh, v_dv], dim=1).permute(0, 2, 3, 1)


def msge_loss(true, pred, focus):
    true_grad = gradient_hv(true)
    pred_grad = gradient_hv(pred)
    diff = pred_grad - true_grad
    focus = focus.float()[..., None].expand(-1, -1, -1, 2)
    return (focus * diff * diff).sum() / (focus.sum() + 1e-8)


def train_step(batch, model, optimizer):
    imgs = batch['img'].float().permute(0, 3, 1, 2).contiguous()
    true_np = torch.squeeze(batch['np_map']).long()
    true_hv = torch.squeeze(batch['hv_map']).float()

    model.train()
    optimizer.zero_grad()
    out = {k: v.permute(0, 2, 3, 1).contiguous() for k, v in model(imgs).items()}
    loss = F.mse_loss(out['hv'], true_hv)
    loss = loss + 2 * msge_loss(true_hv, out['hv'], true_np)
    loss = loss + F.cross_entropy(out['np'].reshape(-1, 2), true_np.reshape(-1))
    loss.backward()
    optimizer.step()
    return loss.item()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size', type=int, default=1)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--lr', type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(5)
    loader = DataLoader(NucleiPatches(12), batch_size=args.batch_size, shuffle=True)
    net = TwoBranchNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        losses = [train_step(batch, net, optimizer) for batch in loader]
        print('epoch %d  loss %.4f' % (epoch + 1, np.mean(losses)))
