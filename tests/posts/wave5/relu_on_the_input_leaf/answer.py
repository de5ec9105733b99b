import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable


class MapHead(nn.Module):
    def __init__(self, channels, n_classes):
        super(MapHead, self).__init__()
        self.conv = nn.Conv2d(channels, 8, 3, padding=1)
        self.fc = nn.Linear(8, n_classes)

    def forward(self, x):
        x = F.relu(x)
        x = F.dropout(x, p=0.1, training=self.training)
        x = F.relu(self.conv(x))
        x = F.adaptive_avg_pool2d(x, 1).view(x.size(0), -1)
        return self.fc(x)


np.random.seed(0)
torch.manual_seed(0)
features = np.random.randn(32, 6, 10, 10)
labels = np.random.randint(0, 3, size=32)

net = MapHead(6, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

saliency = np.zeros((6, 10, 10))
for epoch in range(2):
    for i in range(0, len(features), 4):
        x = Variable(torch.from_numpy(features[i:i + 4]).float(), requires_grad=True)
        y = Variable(torch.from_numpy(labels[i:i + 4]).long())
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        saliency += np.abs(x.grad.numpy()).sum(0)
    print("epoch", epoch, "loss", loss.item())
print("most sensitive channel", saliency.sum((1, 2)).argmax())
