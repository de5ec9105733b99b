import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.dropout(x, 0.5, training=self.training)
        return self.fc2(x)


torch.manual_seed(0)
prototypes = torch.randn(5, 1, 16, 16)
labels = torch.randint(0, 5, (1000,))
images = prototypes[labels] + 2.5 * torch.randn(1000, 1, 16, 16)
train_loader = DataLoader(TensorDataset(images[:800], labels[:800]), batch_size=32, shuffle=True)
test_images, test_labels = images[800:], labels[800:]

net = SmallCNN()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    net.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        optimizer.step()

net.eval()
with torch.no_grad():
    logits = net(test_images)
    again = net(test_images)
print("test accuracy", (logits.argmax(1) == test_labels).float().mean().item())
print("largest difference of two runs", (logits - again).abs().max().item())
