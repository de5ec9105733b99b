import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PaintBucketDataset(Dataset):
    """Pairs of line-art frames: colour the segments of the target from the reference."""

    def __init__(self, n, size=96, seed=0):
        self.n, self.size, self.seed = n, size, seed

    def __len__(self):
        return self.n

    def _frame(self, rng, boxes):
        line = np.ones((self.size, self.size), dtype=np.float32)
        segment = np.zeros((self.size, self.size), dtype=np.int64)
        keypoints = []
        for k, (x, y, w, h) in enumerate(boxes, start=1):
            dx, dy = rng.randint(-2, 3, size=2)
            x0, y0 = np.clip([x + dx, y + dy], 0, self.size - 20)
            line[y0:y0 + h, x0] = line[y0:y0 + h, x0 + w - 1] = 0
            line[y0, x0:x0 + w] = line[y0 + h - 1, x0:x0 + w] = 0
            segment[y0:y0 + h, x0:x0 + w] = k
            keypoints.append([x0 / self.size, y0 / self.size, w / self.size, h / self.size])
        return torch.from_numpy(line)[None], torch.from_numpy(segment), torch.tensor(keypoints, dtype=torch.float32)

    def __getitem__(self, index):
        rng = np.random.RandomState(self.seed + index)
        count = rng.randint(5, 12)
        boxes = [(rng.randint(0, 76), rng.randint(0, 76), rng.randint(6, 19), rng.randint(6, 19)) for _ in range(count)]
        line, segment, keypoints = self._frame(rng, boxes)
        line_ref, segment_ref, keypoints_ref = self._frame(rng, boxes)
        order = rng.permutation(count)
        return {
            'line': line,
            'line_ref': line_ref,
            'keypoints': keypoints,
            'keypoints_ref': keypoints_ref[order],
            'all_matches': torch.from_numpy(np.argsort(order)),
            'file_name': f'clip_{index:04d}',
        }


class SegmentMatcher(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
                                 nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.ReLU())
        self.kenc = nn.Sequential(nn.Linear(4, dim), nn.ReLU(), nn.Linear(dim, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
        self.gnn = nn.TransformerEncoder(layer, 1)

    def describe(self, line, keypoints):
        centre = keypoints[..., :2] + keypoints[..., 2:] / 2
        feat = F.grid_sample(self.cnn(line), centre[:, :, None] * 2 - 1, align_corners=False)
        return self.gnn(feat.squeeze(-1).transpose(1, 2) + self.kenc(keypoints))

    def forward(self, data):
        desc = self.describe(data['line'], data['keypoints'])
        ref = self.describe(data['line_ref'], data['keypoints_ref'])
        scores = desc @ ref.transpose(1, 2) / desc.shape[-1] ** 0.5
        loss = F.cross_entropy(scores.transpose(1, 2), data['all_matches'])
        accuracy = (scores.argmax(-1) == data['all_matches']).float().mean()
        return loss, accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size_per_gpu', type=int, default=1)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--lr', type=float, default=5e-4)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(PaintBucketDataset(160), batch_size=args.batch_size_per_gpu, shuffle=True, num_workers=0)
    model = SegmentMatcher()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        losses, accs = [], []
        for data in train_loader:
            loss, accuracy = model(data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            accs.append(accuracy.item())
        print(f'epoch {epoch}: loss {np.mean(losses):.4f}, acc {np.mean(accs):.3f}')


if __name__ == '__main__':
    main()
