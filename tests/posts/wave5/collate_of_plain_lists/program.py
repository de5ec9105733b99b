import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

N_FEATURES = 8


class MyDataset(Dataset):
    def __init__(self, n=48):
        self.data = torch.randn(n, N_FEATURES).tolist()
        self.target = torch.randint(0, 3, (n,)).tolist()

    def __getitem__(self, index):
        x = self.data[index]
        y = self.target[index]
        return {"data": x, "target": y}

    def __len__(self):
        return len(self.data)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(N_FEATURES, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


loader = DataLoader(MyDataset(), batch_size=6, shuffle=True)
model = MLP()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    for batch in loader:
        x = torch.stack(list(batch["data"])).float()
        y = batch["target"]
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
