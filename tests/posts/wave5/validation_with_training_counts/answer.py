import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader


class RMBDataset(Dataset):
    """two kinds of bank notes"""

    def __init__(self, n):
        self.labels = torch.randint(0, 2, (n,))
        self.images = torch.randn(n, 3, 32, 32) + 0.1 * self.labels.view(-1, 1, 1, 1).float()

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


class LeNet(nn.Module):
    def __init__(self, classes):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        out = F.max_pool2d(F.relu(self.conv1(x)), 2)
        out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        out = out.view(out.size(0), -1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(out)))))


torch.manual_seed(1)
MAX_EPOCH, BATCH_SIZE, LR, log_interval, val_interval = 3, 16, 0.01, 2, 1
train_loader = DataLoader(RMBDataset(80), batch_size=BATCH_SIZE, shuffle=True)
valid_loader = DataLoader(RMBDataset(40), batch_size=BATCH_SIZE)
net = LeNet(classes=2)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=LR, momentum=0.9)
valid_curve = []

for epoch in range(MAX_EPOCH):
    loss_mean, correct, total = 0., 0., 0.
    net.train()
    for i, (inputs, labels) in enumerate(train_loader):
        outputs = net(inputs)
        optimizer.zero_grad()
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).squeeze().sum().numpy()
        loss_mean += loss.item()
        if (i + 1) % log_interval == 0:
            print("Training: Epoch[{:0>3}] Loss: {:.4f} Acc:{:.2%}".format(epoch, loss_mean / log_interval, correct / total))
            loss_mean = 0.

    if (epoch + 1) % val_interval == 0:
        correct_val, total_val, loss_val = 0., 0., 0.
        net.eval()
        with torch.no_grad():
            for inputs, labels in valid_loader:
                outputs = net(inputs)
                loss_val += criterion(outputs, labels).item()
                _, predicted = torch.max(outputs.data, 1)
                total_val += labels.size(0)
                correct_val += (predicted == labels).squeeze().sum().numpy()
        valid_curve.append(loss_val / len(valid_loader))
        print("Valid:\t Epoch[{:0>3}] Loss: {:.4f} Acc:{:.2%}".format(epoch, np.mean(valid_curve[-1]), correct_val / total_val))
