import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class DiabetesDataset(Dataset):

    def __init__(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(759, 8)).astype(np.float32)
        y = (x[:, 1] + 0.5 * x[:, 5] + 0.3 * rng.normal(size=759) > 0).astype(np.float32)
        self.len = x.shape[0]
        self.x_data = torch.from_numpy(x)
        self.y_data = torch.from_numpy(y[:, None])

    def __getitem__(self, index):
        return self.x_data[index], self.y_data[index]

    def __len__(self):
        return self.len


class Model(nn.Module):

    def __init__(self):
        super(Model, self).__init__()
        self.l1 = nn.Linear(8, 32)
        self.l2 = nn.Linear(32, 16)
        self.l3 = nn.Linear(16, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.relu(self.l1(x))
        out = self.relu(self.l2(out))
        y_pred = self.l3(out)
        return y_pred


torch.manual_seed(1)
dataset = DiabetesDataset()
train_loader = DataLoader(dataset=dataset, batch_size=32, shuffle=True)

model = Model()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(5):
    correct = 0
    for i, (inputs, labels) in enumerate(train_loader):
        y_pred = model(inputs)
        loss = criterion(y_pred, labels)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        correct += ((y_pred > 0).float() == labels).sum().item()
    print(f"Epoch {epoch + 1} | Loss: {loss.item():.4f} | Acc: {correct / len(dataset):.3f}")
