import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class CardiacSlices(Dataset):
    """One short-axis slice, its labels (4 classes) and the edges of the labels."""

    def __init__(self, n, size=256, seed=0):
        rng = np.random.RandomState(seed)
        self.images = rng.rand(n, 1, size, size).astype(np.float32)
        self.labels = rng.randint(0, 4, (n, size, size))
        self.edges = (rng.rand(n, 1, size, size) > 0.95).astype(np.float32)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {'image': torch.from_numpy(self.images[i]),
                'mask': (torch.from_numpy(self.labels[i]), torch.from_numpy(self.edges[i]))}


class DualLoss(nn.Module):
    def forward(self, inputs, targets):
        seg, edge = inputs
        seg_t, edge_t = targets
        return F.cross_entropy(seg, seg_t) + F.binary_cross_entropy_with_logits(edge, edge_t)


class ShapeUNet(nn.Module):
    def __init__(self, num_classes=4, f=8):
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, f, 3, padding=1), nn.ReLU())
        self.enc2 = nn.Sequential(nn.Conv2d(f, 2 * f, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * f, f, 2, stride=2)
        self.seg = nn.Conv2d(2 * f, num_classes, 1)
        self.edge = nn.Conv2d(f, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        d = self.up(self.enc2(e1))
        return self.seg(torch.cat([d, e1], 1)), self.edge(e1)


class SegmentationModule(nn.Module):
    def __init__(self, net, crit):
        super().__init__()
        self.net, self.crit = net, crit

    def forward(self, feed_dict, epoch, training=True):
        if training:
            p = self.net(feed_dict['image'])
            return self.crit((p[0], p[1]), (feed_dict['mask'][0].long(), feed_dict['mask'][1])), p
        p = self.net(feed_dict['image'].unsqueeze(0))
        loss = self.crit((p[0], p[1]), (feed_dict['mask'][0].long(), feed_dict['mask'][1].unsqueeze(0)))
        return loss, p


if __name__ == '__main__':
    module = SegmentationModule(ShapeUNet(), DualLoss())
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-4)
    val_set = CardiacSlices(3, seed=1)
    for epoch in range(1):
        for feed_dict in DataLoader(CardiacSlices(6), batch_size=2, shuffle=True):
            loss, _ = module(feed_dict, epoch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = [module(val_set[i], epoch, training=False)[0].item() for i in range(len(val_set))]
        print('epoch %d: train %.3f, val %.3f' % (epoch, loss.item(), np.mean(val)))
