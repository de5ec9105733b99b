import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class SalTrainData(Dataset):
    """RGB image, saliency map and depth map, all 256 x 256."""

    def __init__(self, n=6, size=256):
        rng = np.random.RandomState(8)
        self.img = rng.rand(n, 3, size, size).astype(np.float32)
        self.lbl = (rng.rand(n, size, size) > 0.8).astype(np.int64)
        self.depth = rng.rand(n, size, size).astype(np.float32)

    def __len__(self):
        return len(self.img)

    def __getitem__(self, index):
        return (torch.from_numpy(self.img[index]), torch.from_numpy(self.lbl[index]),
                torch.from_numpy(self.depth[index]))


class Encoder(nn.Module):
    def __init__(self, c=16):
        super(Encoder, self).__init__()
        self.low = nn.Sequential(nn.Conv2d(3, c, 3, 2, 1), nn.BatchNorm2d(c), nn.ReLU())
        self.high = nn.Sequential(nn.Conv2d(c, 2 * c, 3, 2, 1), nn.BatchNorm2d(2 * c), nn.ReLU())

    def forward(self, x):
        low = self.low(x)
        return low, self.high(low)


class Decoder(nn.Module):
    def __init__(self, c=16):
        super(Decoder, self).__init__()
        self.sal = nn.Conv2d(2 * c, 2, 1)
        self.high_dep = nn.Conv2d(2 * c, 1, 1)
        self.pred_dep = nn.Conv2d(c, 1, 1)

    def forward(self, low, high, size):
        def up(t):
            return F.interpolate(t, size=size, mode='bilinear', align_corners=True)
        return up(self.sal(high)), up(self.high_dep(high)), up(self.pred_dep(low))


class Trainer(object):
    def __init__(self, encoder, decoder, loader, lr=1e-8):
        self.encoder, self.decoder, self.loader = encoder, decoder, loader
        params = list(encoder.parameters()) + list(decoder.parameters())
        self.optim = torch.optim.SGD(params, lr=lr, momentum=0.9)

    def train_epoch(self, epoch):
        for it, (img, lbl, depth) in enumerate(self.loader):
            low, high = self.encoder(img)
            sal, high_depth, pred_depth = self.decoder(low, high, img.shape[2:])
            loss_sal = F.cross_entropy(sal, lbl, reduction='sum')
            loss_high = F.smooth_l1_loss(high_depth, depth, reduction='sum')
            loss_low = F.smooth_l1_loss(pred_depth, depth, reduction='sum')
            loss = (loss_sal + loss_high + loss_low) / img.size(0)
            self.optim.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.encoder.parameters(), 10.)
            self.optim.step()
            print('epoch %d iter %d loss %.1f depth %.1f' % (epoch, it, loss.item(), loss_low.item()))


if __name__ == '__main__':
    torch.manual_seed(0)
    loader = DataLoader(SalTrainData(), batch_size=2, shuffle=True)
    Trainer(Encoder(), Decoder(), loader).train_epoch(0)
