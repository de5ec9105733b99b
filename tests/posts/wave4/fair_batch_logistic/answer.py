import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import Sampler


class CustomDataset(Dataset):
    def __init__(self, x_tensor, y_tensor, z_tensor):
        self.x, self.y, self.z = x_tensor, y_tensor, z_tensor

    def __getitem__(self, index):
        return self.x[index], self.y[index], self.z[index]

    def __len__(self):
        return len(self.y)


class LogisticRegression(nn.Module):
    def __init__(self, input_size, hidden=None):
        super().__init__()
        self.linear = nn.Linear(input_size, 1)

    def forward(self, x):
        return torch.sigmoid(self.linear(x))


class GroupSampler(Sampler):
    """Draws each (label, group) cell with a share that follows the losses of the cells."""

    def __init__(self, model, dataset, batch_size, alpha=0.05):
        self.model, self.data = model, dataset
        self.batch_size, self.alpha = batch_size, alpha
        self.cells = {(y, z): torch.nonzero((dataset.y == y) & (dataset.z == z)).flatten().tolist()
                      for y in (0, 1) for z in (0, 1)}
        self.share = {k: len(v) / len(dataset) for k, v in self.cells.items()}

    def adjust(self):
        self.model.eval()
        criterion = nn.BCELoss(reduction='none')
        with torch.no_grad():
            losses = criterion(self.model(self.data.x), self.data.y.unsqueeze(1))
        mean = {k: losses[v].mean().item() for k, v in self.cells.items()}
        for y in (0, 1):
            step = self.alpha if mean[(y, 0)] > mean[(y, 1)] else -self.alpha
            total = self.share[(y, 0)] + self.share[(y, 1)]
            self.share[(y, 0)] = float(np.clip(self.share[(y, 0)] + step * total, 0, total))
            self.share[(y, 1)] = total - self.share[(y, 0)]

    def __iter__(self):
        self.adjust()
        for _ in range(len(self)):
            batch = []
            for k, v in self.cells.items():
                batch += random.choices(v, k=int(round(self.share[k] * self.batch_size)))
            yield batch

    def __len__(self):
        return len(self.data) // self.batch_size


random.seed(0)
np.random.seed(0)
x = np.random.randn(600, 5)
z = (np.random.rand(600) < 0.4).astype(np.float32)
y = (x[:, 0] + 0.5 * z + 0.3 * np.random.randn(600) > 0).astype(np.float32)
train_data = CustomDataset(torch.FloatTensor(x), torch.FloatTensor(y), torch.FloatTensor(z))

model = LogisticRegression(5)
sampler = GroupSampler(model, train_data, batch_size=100)
loader = DataLoader(train_data, batch_sampler=sampler)
optimizer = torch.optim.Adam(model.parameters(), lr=0.0005)
criterion = nn.BCELoss()

for epoch in range(4):
    tmp_loss = []
    for batch_x, batch_y, batch_z in loader:
        model.train()
        outputs = model(batch_x)
        loss = criterion(outputs, batch_y.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tmp_loss.append(loss.item())
    print("epoch", epoch, np.mean(tmp_loss), {k: round(v, 3) for k, v in sampler.share.items()})
