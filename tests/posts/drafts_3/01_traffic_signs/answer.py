# coding: utf-8
# Traffic sign recognition - homework 3

# In[1]:
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)

# In[2]:
NUM_CLASSES = 43
signs = np.random.rand(NUM_CLASSES, 3, 32, 32).astype('float32')
X_train = np.tile(signs, (20, 1, 1, 1)) + 0.3 * np.random.randn(860, 3, 32, 32).astype('float32')
y_train = np.tile(np.arange(NUM_CLASSES), 20)
X_test = np.tile(signs, (5, 1, 1, 1)) + 0.3 * np.random.randn(215, 3, 32, 32).astype('float32')
y_test = np.tile(np.arange(NUM_CLASSES), 5)

mean, std = X_train.mean(), X_train.std()
X_train = (X_train - mean) / std
X_test = (X_test - mean) / std

# In[3]:
train_set = TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train).long())
test_set = TensorDataset(torch.from_numpy(X_test), torch.from_numpy(y_test).long())
train_loader = DataLoader(train_set, batch_size=43, shuffle=True)
test_loader = DataLoader(test_set, batch_size=43)


# In[4]:
class SignNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.fc1 = nn.Linear(64 * 4 * 4, 128)
        self.fc2 = nn.Linear(128, NUM_CLASSES)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.pool(F.relu(self.conv3(x)))
        x = torch.flatten(x, 1)
        x = self.drop(F.relu(self.fc1(x)))
        x = self.fc2(x)
        return x


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
net = SignNet().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

# In[5]:
for epoch in range(6):
    net.train()
    running = 0.0
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = net(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * images.size(0)
    print('epoch %d loss %.4f' % (epoch + 1, running / len(train_set)))

# In[6]:
net.eval()
correct = 0
with torch.no_grad():
    for images, labels in test_loader:
        images, labels = images.to(device), labels.to(device)
        pred = net(images).argmax(1)
        correct += (pred == labels).sum().item()
print('test accuracy: %.2f %%' % (100.0 * correct / len(test_set)))
