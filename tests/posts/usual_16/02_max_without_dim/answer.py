import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)

CLASSES = ["healthy", "rust", "scab", "multiple"]


class LeafDataset(Dataset):
    """small fake leaf pictures: every disease has its own tint"""

    def __init__(self, n):
        self.labels = np.random.randint(0, len(CLASSES), n)
        tint = np.array([[0.2, 0.8, 0.2], [0.7, 0.4, 0.1], [0.3, 0.4, 0.3], [0.6, 0.6, 0.2]])
        imgs = np.random.rand(n, 32, 32, 3) * 0.4 + tint[self.labels][:, None, None, :] * 0.6
        self.imgs = imgs.astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = torch.from_numpy(self.imgs[i]).permute(2, 0, 1)
        return img, int(self.labels[i])


class LeafNet(nn.Module):
    def __init__(self, num_classes):
        super(LeafNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(32 * 8 * 8, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


train_loader = DataLoader(LeafDataset(512), batch_size=32, shuffle=True)
test_loader = DataLoader(LeafDataset(128), batch_size=32)

net = LeafNet(len(CLASSES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(3):
    running_loss = 0.0
    net.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print("[%d] loss: %.3f" % (epoch + 1, running_loss / len(train_loader)))

print("Finished Training")

correct = 0
total = 0
class_correct = [0] * len(CLASSES)
class_total = [0] * len(CLASSES)
net.eval()
with torch.no_grad():
    for images, labels in test_loader:
        outputs = net(images)
        _, predicted = torch.max(outputs, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
        for label, pred in zip(labels, predicted):
            class_total[label] += 1
            class_correct[label] += int(label == pred)

print("Accuracy on the test images: %d %%" % (100 * correct / total))
for c, good, n in zip(CLASSES, class_correct, class_total):
    print(f"  {c:10s} {good}/{n}")
