import argparse
import os
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class ScanDataset(Dataset):
    """Each case is a stack of CT slices with one label (0 normal, 1 cap, 2 covid)."""

    def __init__(self, stage, n_cases, n_slices=6, size=24):
        rng = np.random.RandomState({'train': 11, 'val': 12}[stage])
        self.stage = stage
        self.labels = rng.choice(3, size=n_cases, p=[0.5, 0.3, 0.2])
        self.volumes = rng.normal(0, 1, size=(n_cases, n_slices, 1, size, size)).astype(np.float32)
        for i, y in enumerate(self.labels):
            self.volumes[i, 2:4, :, 4 + 6 * y:10 + 6 * y, 6:12] += 0.8
        self.case_ids = ['%s_%03d' % (stage, i) for i in range(n_cases)]

    def sample_weights(self):
        counts = np.bincount(self.labels, minlength=3)
        return torch.DoubleTensor(1.0 / counts[self.labels])

    def __len__(self):
        return len(self.case_ids)

    def __getitem__(self, i):
        return self.volumes[i], int(self.labels[i]), self.case_ids[i]


class SliceNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.n_classes = n_classes
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(4))
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(32 * 16, n_classes)

    def forward(self, volume):
        slices = volume.squeeze(0)
        feat = self.backbone(slices).flatten(1)
        feat = feat.max(dim=0, keepdim=True)[0]
        return self.classifier(self.dropout(feat))


def train_model(net, loader, optimizer):
    net.train()
    criterion = nn.CrossEntropyLoss()
    losses, probs, trues = [], [], []
    for volume, label, _ in loader:
        optimizer.zero_grad()
        logits = net(volume)
        loss = criterion(logits, label)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        probs.append(F.softmax(logits, dim=1).detach().numpy())
        trues.append(label.item())
    acc = (np.concatenate(probs).argmax(1) == np.array(trues)).mean()
    return np.mean(losses), {'accuracy': acc}


def evaluate_model(net, loader):
    net.eval()
    criterion = nn.CrossEntropyLoss()
    losses, probs, trues = [], [], []
    for volume, label, _ in loader:
        logits = net(volume)
        losses.append(criterion(logits, label).item())
        probs.append(F.softmax(logits, dim=1).numpy())
        trues.append(label.item())
    acc = (np.concatenate(probs).argmax(1) == np.array(trues)).mean()
    return np.mean(losses), {'accuracy': acc}


def main(args):
    torch.manual_seed(args.seed)
    model_dir = args.out or tempfile.mkdtemp()

    train_set = ScanDataset('train', 60)
    sampler = WeightedRandomSampler(train_set.sample_weights(), len(train_set))
    train_loader = DataLoader(train_set, batch_size=1, sampler=sampler)
    val_set = ScanDataset('val', 30)
    val_loader = DataLoader(val_set, batch_size=1, shuffle=False)

    net = SliceNet(n_classes=3)
    optimizer = optim.Adam(net.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.3)

    best_val_loss, best_val_acc, stale = float('inf'), 0.0, 0
    for epoch in range(args.epochs):
        t0 = time.time()
        train_loss, train_metric = train_model(net, train_loader, optimizer)
        with torch.no_grad():
            val_loss, val_metric = evaluate_model(net, val_loader)
        scheduler.step(val_loss)

        print('epoch %d | train loss %.4f acc %.3f | val loss %.4f acc %.3f | %.1fs' % (
            epoch + 1, train_loss, train_metric['accuracy'], val_loss, val_metric['accuracy'], time.time() - t0))

        stale += 1
        if val_metric['accuracy'] > best_val_acc:
            best_val_acc = val_metric['accuracy']
            torch.save(net.state_dict(), os.path.join(model_dir, 'best.pth'))
        if val_loss < best_val_loss:
            best_val_loss, stale = val_loss, 0
        if stale == args.patience:
            print('Early stopping after %d epochs without improvement' % stale)
            break
    print('best val accuracy %.3f' % best_val_acc)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=8)
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--patience', type=int, default=4)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--out', type=str, default='')
    main(parser.parse_args())
