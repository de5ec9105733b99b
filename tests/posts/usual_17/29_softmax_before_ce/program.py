import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision import transforms

torch.manual_seed(0)
np.random.seed(0)

# Kaggle: classify leaf diseases from small crops
N_CLASSES = 6
DISEASES = ['healthy', 'rust', 'scab', 'blight', 'mildew', 'spot']

augment = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.RandomVerticalFlip(),
])


def fake_leaves(n):
    y = np.random.randint(0, N_CLASSES, n)
    x = np.random.rand(n, 3, 24, 24).astype(np.float32)
    for i, c in enumerate(y):
        x[i, c % 3] += 0.25 + 0.25 * (c // 3)
    return TensorDataset(torch.tensor(x), torch.tensor(y))


class LeafNet(nn.Module):
    def __init__(self, n_classes):
        super(LeafNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.bn2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 6 * 6, 64)
        self.dropout = nn.Dropout(0.3)
        self.fc2 = nn.Linear(64, n_classes)
        self.relu = nn.ReLU()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        x = x.view(x.size(0), -1)
        x = self.dropout(self.relu(self.fc1(x)))
        x = self.softmax(self.fc2(x))
        return x


train_loader = DataLoader(fake_leaves(480), batch_size=32, shuffle=True)
valid_loader = DataLoader(fake_leaves(120), batch_size=60)

model = LeafNet(N_CLASSES)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

for epoch in range(5):
    model.train()
    train_loss, train_correct = 0, 0
    for images, labels in train_loader:
        images = augment(images)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * images.size(0)
        train_correct += (outputs.argmax(1) == labels).sum().item()

    model.eval()
    valid_loss, valid_correct = 0, 0
    with torch.no_grad():
        for images, labels in valid_loader:
            outputs = model(images)
            valid_loss += criterion(outputs, labels).item() * images.size(0)
            valid_correct += (outputs.argmax(1) == labels).sum().item()
    print('Epoch %d train loss %.4f acc %.3f | valid loss %.4f acc %.3f' % (
        epoch + 1, train_loss / 480, train_correct / 480, valid_loss / 120, valid_correct / 120))
