# Gesture recognition with my flex-sensor glove (Arduino -> csv -> PyTorch)
import csv
import os
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader

random.seed(3)
torch.manual_seed(3)

GESTURES = ['fist', 'point', 'peace', 'ok', 'flat']
BENT = {'fist': [1, 1, 1, 1, 1], 'point': [1, 0, 1, 1, 1], 'peace': [1, 0, 0, 1, 1],
        'ok': [1, 1, 0, 0, 0], 'flat': [0, 0, 0, 0, 0]}


def record(filename, n):
    """fakes what the serial logger writes"""
    with open(filename, 'w', newline='') as f:
        w = csv.writer(f)
        w.writerow(['thumb', 'index', 'middle', 'ring', 'pinky', 'gesture'])
        for _ in range(n):
            g = random.choice(GESTURES)
            w.writerow([round(random.gauss(300 + 400 * b, 120)) for b in BENT[g]] + [g])


class GloveData(Dataset):
    def __init__(self, filename):
        self.samples = []
        with open(filename) as f:
            for row in csv.DictReader(f):
                flex = [float(row[k]) / 1023 for k in ('thumb', 'index', 'middle', 'ring', 'pinky')]
                self.samples.append((torch.tensor(flex), GESTURES.index(row['gesture'])))

    def __getitem__(self, idx):
        return self.samples[idx]

    def __len__(self):
        return len(self.samples)


class GloveNet(nn.Module):
    def __init__(self):
        super(GloveNet, self).__init__()
        self.fc1 = nn.Linear(5, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, len(GESTURES))

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


record('train.csv', 600)
record('test.csv', 150)
train_data = GloveData('train.csv')
test_data = GloveData('test.csv')
os.remove('train.csv')
os.remove('test.csv')

train_loader = DataLoader(train_data, batch_size=20, shuffle=True)
test_loader = DataLoader(test_data, batch_size=50, shuffle=False)

net = GloveNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=0.01)

for epoch in range(5):
    net.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()

    net.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for inputs, labels in test_loader:
            predicted = net(inputs).argmax(dim=1)
            total += labels.size(0)
            correct += (predicted == labels).sum().item()
    print('epoch %d: %.1f %% right' % (epoch + 1, 100 * correct / total))
