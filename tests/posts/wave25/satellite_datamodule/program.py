import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms

torch.manual_seed(4)


class BaseDataModule:
    """Loaders and batch augmentation shared by all data sets."""

    mean = torch.tensor([0.0])
    std = torch.tensor([255.0])

    def __init__(self, batch_size=32):
        self.batch_size = batch_size
        self.aug = transforms.Normalize(mean=self.mean, std=self.std)

    def train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_dataset, batch_size=self.batch_size)

    def on_after_batch_transfer(self, batch):
        x, y = batch
        return self.aug(x), y


class EuroSatDataModule(BaseDataModule):
    band_means = {"B02": 1117.2, "B03": 1041.9, "B04": 946.5, "B08": 2299.9}
    band_stds = {"B02": 333.0, "B03": 395.1, "B04": 594.5, "B08": 1117.2}

    def __init__(self, bands=("B04", "B03", "B02", "B08"), batch_size=32):
        super().__init__(batch_size)
        self.bands = bands
        self.mean = torch.tensor([self.band_means[b] for b in bands])
        self.std = torch.tensor([self.band_stds[b] for b in bands])

    def setup(self, n_train=192, n_val=96):
        self.train_dataset = self._scenes(n_train)
        self.val_dataset = self._scenes(n_val)

    def _scenes(self, n):
        label = torch.randint(0, 3, (n,))
        z = torch.randn(n, len(self.bands), 16, 16)
        for k in range(3):
            z[label == k, k] += 0.7
        return TensorDataset(z * self.std.view(-1, 1, 1) + self.mean.view(-1, 1, 1), label)


class SceneNet(nn.Module):
    def __init__(self, in_channels, num_classes=3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(in_channels, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2), nn.ReLU())
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        return self.fc(self.conv(x).mean(dim=(2, 3)))


dm = EuroSatDataModule()
dm.setup()
x, _ = dm.on_after_batch_transfer(next(iter(dm.train_dataloader())))
print("bands", dm.bands, "batch mean %.3f std %.3f" % (x.mean().item(), x.std().item()))

model = SceneNet(len(dm.bands))
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for batch in dm.train_dataloader():
        x, y = dm.on_after_batch_transfer(batch)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for batch in dm.val_dataloader():
            x, y = dm.on_after_batch_transfer(batch)
            hits += (model(x).argmax(1) == y).sum().item()
    print("epoch %d val accuracy %.3f" % (epoch, hits / len(dm.val_dataset)))
