import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CROPS = 5


class CropTypeDS(Dataset):
    """tiles of a satellite time series; only the pixels of surveyed fields have a label"""

    def __init__(self, n, size=32, timesteps=4, bands=3, seed=0):
        rng = np.random.RandomState(seed)
        self.tiles, self.labels = [], []
        for _ in range(n):
            label = np.full((size, size), -1, dtype=np.int64)
            tile = rng.rand(timesteps * bands, size, size).astype(np.float32)
            for _ in range(rng.randint(1, 8)):
                h, w = rng.randint(2, 16, 2)
                y, x = rng.randint(0, size - h), rng.randint(0, size - w)
                crop = rng.randint(0, NUM_CROPS)
                label[y:y + h, x:x + w] = crop
                tile[crop, y:y + h, x:x + w] += 0.3
            self.tiles.append(tile)
            self.labels.append(label)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, idx):
        return torch.from_numpy(self.tiles[idx]), torch.from_numpy(self.labels[idx])


class FCN_CRNN(nn.Module):
    def __init__(self, in_channels=12, num_classes=NUM_CROPS):
        super(FCN_CRNN, self).__init__()
        self.net = nn.Sequential(
            nn.Conv2d(in_channels, 32, 3, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(),
            nn.Conv2d(32, num_classes, 1))

    def forward(self, x):
        return self.net(x)


def mask_ce_loss(y_true, y_pred):
    y_pred = y_pred.permute(0, 2, 3, 1).reshape(-1, NUM_CROPS)
    y_true = y_true.view(-1)
    valid = y_true >= 0
    return F.cross_entropy(y_pred[valid], y_true[valid])


def get_accuracy(y_true, y_pred):
    valid = y_true >= 0
    correct = (y_pred.argmax(dim=1)[valid] == y_true[valid]).float()
    return correct.mean()


def evaluate(model, dataloaders, optimizer, num_epochs):
    for epoch in range(num_epochs):
        for split in ['train', 'val']:
            dl = dataloaders[split]
            model.train(split == 'train')
            epoch_loss, epoch_acc = 0.0, 0.0
            for inputs, targets in dl:
                with torch.set_grad_enabled(split == 'train'):
                    preds = model(inputs)
                    loss = mask_ce_loss(targets, preds)
                    if split == 'train':
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                epoch_loss += loss.item()
                epoch_acc += get_accuracy(targets, preds).item()
            print('%s epoch %d: loss %.4f, acc %.4f' % (split, epoch, epoch_loss / len(dl), epoch_acc / len(dl)))


if __name__ == '__main__':
    torch.manual_seed(0)
    dataloaders = {'train': DataLoader(CropTypeDS(62), batch_size=4, shuffle=True),
                   'val': DataLoader(CropTypeDS(18, seed=1), batch_size=4)}
    model = FCN_CRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
    evaluate(model, dataloaders, optimizer, num_epochs=3)
