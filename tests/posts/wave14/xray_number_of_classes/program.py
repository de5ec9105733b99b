import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

N_CLASSES = 8
BATCH_SIZE = 16
CLASS_NAMES = ['Atelectasis', 'Cardiomegaly', 'Effusion', 'Infiltration', 'Mass',
               'Nodule', 'Pneumonia']


def entry_table(n, seed):
    rng = np.random.default_rng(seed)
    findings = []
    for _ in range(n):
        k = rng.integers(0, 3)
        picked = rng.choice(CLASS_NAMES, size=k, replace=False)
        findings.append('|'.join(picked) if k else 'No Finding')
    return pd.DataFrame({'Image Index': ['%08d_000.png' % i for i in range(n)],
                         'Finding Labels': findings})


class ChestXrays(Dataset):
    def __init__(self, table, seed=0):
        self.table = table
        self.labels = np.stack([
            table['Finding Labels'].str.contains(name).to_numpy() for name in CLASS_NAMES
        ], axis=1).astype('float32')
        rng = np.random.default_rng(seed)
        self.images = rng.normal(0, 0.2, size=(len(table), 1, 32, 32)).astype('float32')
        for i, row in enumerate(self.labels):
            for j in np.flatnonzero(row):
                self.images[i, 0, 4 * j:4 * j + 4] += 1.0

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).expand(3, -1, -1)
        return image, torch.from_numpy(self.labels[i])


class DenseLayer(nn.Module):
    def __init__(self, c, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


class SmallDenseNet(nn.Module):
    def __init__(self, out_size, growth=8):
        super().__init__()
        c, layers = 16, [nn.Conv2d(3, 16, 3, stride=2, padding=1)]
        for _ in range(3):
            layers.append(DenseLayer(c, growth))
            c += growth
        self.features = nn.Sequential(*layers, nn.BatchNorm2d(c), nn.ReLU())
        self.classifier = nn.Sequential(nn.Linear(c * 16, out_size), nn.Sigmoid())

    def forward(self, x):
        f = self.features(x).mean(dim=3)
        return self.classifier(f.flatten(1))


def epoch_loss(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total = 0.0
    for images, labels in loader:
        with torch.set_grad_enabled(optimizer is not None):
            outputs = model(images)
            loss = criterion(outputs, labels)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train = DataLoader(ChestXrays(entry_table(160, 1)), BATCH_SIZE, shuffle=True)
    val = DataLoader(ChestXrays(entry_table(64, 2), seed=3), BATCH_SIZE)
    model = SmallDenseNet(N_CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999))
    criterion = nn.BCELoss()
    for epoch in range(3):
        t = epoch_loss(model, train, criterion, optimizer)
        with torch.no_grad():
            v = epoch_loss(model, val, criterion)
        print('Epoch %d train %.4f val %.4f' % (epoch + 1, t, v))


if __name__ == '__main__':
    main()
