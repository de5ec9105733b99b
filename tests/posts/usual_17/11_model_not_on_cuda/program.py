import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = 'cuda' if torch.cuda.is_available() else 'cpu'
print('Using', device)

EPOCHS = 2
LR = 1e-3


class FashionCNN(nn.Module):
    def __init__(self):
        super(FashionCNN, self).__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(
            nn.Conv2d(16, 32, kernel_size=3),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2))
        self.fc1 = nn.Linear(32 * 6 * 6, 120)
        self.drop = nn.Dropout(0.25)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, x):
        out = self.layer1(x)
        out = self.layer2(out)
        out = out.view(out.size(0), -1)
        out = self.drop(torch.relu(self.fc1(out)))
        return self.fc2(out)


def make_split(n):
    x = torch.rand(n, 1, 28, 28)
    y = torch.randint(0, 10, (n,))
    for i in range(n):
        x[i, 0, y[i] * 2:y[i] * 2 + 4] += 1
    return TensorDataset(x, y)


train_loader = DataLoader(make_split(400), batch_size=50, shuffle=True)
test_loader = DataLoader(make_split(100), batch_size=50)

model = FashionCNN()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=LR)

loss_list = []
for epoch in range(EPOCHS):
    model.train()
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        outputs = model(images)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_list.append(loss.item())

    model.eval()
    total, correct = 0, 0
    with torch.no_grad():
        for images, labels in test_loader:
            images, labels = images.to(device), labels.to(device)
            predictions = model(images).max(1)[1]
            correct += (predictions == labels).sum().item()
            total += len(labels)
    print('Epoch {}, loss {:.4f}, accuracy {:.1f}%'.format(epoch, loss_list[-1], 100 * correct / total))
