import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2020)


class PointFeatures(nn.Module):
    """A descriptor for every point of a scan."""

    def __init__(self, dim=32):
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU())
        self.head = nn.Sequential(nn.Conv1d(256, 64, 1), nn.ReLU(), nn.Conv1d(64, dim, 1))

    def forward(self, xyz):
        f = self.local(xyz.transpose(1, 2))
        g = f.max(dim=2, keepdim=True).values.expand_as(f)
        return F.normalize(self.head(torch.cat([f, g], dim=1)), dim=1).transpose(1, 2)


def make_pairs(n, points=256):
    for _ in range(n):
        src = torch.rand(2, points, 3)
        angle = torch.rand(1) * 0.5
        c, s = torch.cos(angle).item(), torch.sin(angle).item()
        rot = torch.tensor([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        yield src, src @ rot.t() + 0.01 * torch.randn(2, points, 3)


class ContrastiveTrainer:
    def __init__(self, pos_thresh=0.1, neg_thresh=1.2):
        self.model = PointFeatures()
        self.pos_thresh, self.neg_thresh = pos_thresh, neg_thresh
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.8)
        self.best_val = -1.0

    def contrastive_loss(self, f0, f1):
        d = torch.cdist(f0, f1)
        diag = torch.eye(d.size(1), dtype=torch.bool)
        pos = F.relu(d[:, diag] - self.pos_thresh).pow(2).mean()
        neg = F.relu(self.neg_thresh - d.masked_fill(diag, 1e4).min(dim=2).values).pow(2).mean()
        return pos + neg

    def _train_epoch(self):
        self.model.train()
        for src, dst in make_pairs(5):
            loss = self.contrastive_loss(self.model(src), self.model(dst))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def _valid_epoch(self):
        self.model.eval()
        hit_ratio, loss_sum, num = 0.0, 0.0, 0
        for src, dst in make_pairs(4):
            f0, f1 = self.model(src), self.model(dst)
            loss_sum += self.contrastive_loss(f0, f1)
            nearest = torch.cdist(f0, f1).argmin(dim=2)
            hit_ratio += (nearest == torch.arange(src.size(1))).float().mean()
            num += 1
        return (hit_ratio / num).item(), (loss_sum / num).item()

    def train(self, epochs=2):
        for epoch in range(epochs):
            train_loss = self._train_epoch()
            hit, val_loss = self._valid_epoch()
            self.best_val = max(self.best_val, hit)
            print(f'epoch {epoch}: train {train_loss:.4f} val {val_loss:.4f} hit ratio {hit:.4f}')


ContrastiveTrainer().train()
