# line 22: the saliency of each image is min-max scaled with the minimum and maximum of all images of the batch
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SaliencyNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.enc = nn.Conv2d(3, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.dec = nn.Conv2d(width, 1, 1)

    def forward(self, img):
        h = F.relu(self.enc(img))
        h = F.relu(self.mid(h))
        return self._to_unit_range(self.dec(h))

    @staticmethod
    def _to_unit_range(m):
        lo, hi = m.min(), m.max()
        return (m - lo) / (hi - lo + 1e-6)


def sample_scene(n, rs):
    imgs = rs.uniform(0, 0.3, (n, 3, 24, 24)).astype("float32")
    gt = np.zeros((n, 1, 24, 24), dtype="float32")
    for i in range(n):
        r, c = rs.randint(0, 16, 2)
        imgs[i, :, r:r + 8, c:c + 8] += rs.uniform(0.2, 0.7)
        gt[i, 0, r:r + 8, c:c + 8] = 1
    return torch.from_numpy(imgs), torch.from_numpy(gt)


class Runner:
    def __init__(self, seed=5):
        torch.manual_seed(seed)
        self.rs = np.random.RandomState(seed)
        self.net = SaliencyNet()
        self.opt = torch.optim.Adam(self.net.parameters(), 5e-3)

    def fit(self, steps):
        for _ in range(steps):
            img, gt = sample_scene(8, self.rs)
            loss = F.l1_loss(self.net(img), gt)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def score(self):
        self.net.eval()
        img, gt = sample_scene(20, self.rs)
        return (self.net(img) - gt).abs().mean().item()


r = Runner()
r.fit(40)
print("mae", r.score())
