import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class CharNameDataset(Dataset):
    """one-hot encoded surnames (length 19, 29 characters) and their nationality"""

    def __init__(self, n=110, length=19, chars=29, nationalities=18):
        g = torch.Generator().manual_seed(181)
        idx = torch.randint(0, chars, (n, length), generator=g)
        self.x = nn.functional.one_hot(idx, chars).float().transpose(1, 2)
        self.y = torch.randint(0, nationalities, (n,), generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class CNNModel(nn.Module):
    def __init__(self):
        super(CNNModel, self).__init__()
        self.relu = nn.ReLU()
        self.cnn1 = nn.Conv1d(29, 64, kernel_size=3, padding=1)
        self.cnn2 = nn.Conv1d(64, 64, kernel_size=3, padding=1)
        self.pool = nn.AdaptiveMaxPool1d(1)
        self.fc = nn.Linear(64, 18)

    def forward(self, x):
        out = self.relu(self.cnn1(x))
        out = self.relu(self.cnn2(out))
        out = self.pool(out).squeeze(2)
        return self.fc(out)


model = CNNModel()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(CharNameDataset(), batch_size=32, shuffle=True)

for epoch in range(2):
    correct = 0
    for names, categories in loader:
        optimizer.zero_grad()
        output = model(names)
        loss = criterion(output, categories)
        loss.backward()
        optimizer.step()
        correct += (output.argmax(dim=1) == categories).sum().item()
    print('epoch', epoch, 'loss', loss.item(), 'accuracy', correct / len(loader.dataset))
