import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

N_CLASSES = 4


class FCN(nn.Module):
    def __init__(self):
        super(FCN, self).__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 12, 3, padding=2, dilation=2)
        self.score = nn.Conv2d(12, N_CLASSES, 1)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        return self.score(h)


def cross_entropy2d(score, target):
    n, c, h, w = score.size()
    log_p = F.log_softmax(score, dim=1)
    log_p = log_p.transpose(1, 2).transpose(2, 3)
    log_p = log_p.view(-1, c)
    target = target.view(-1)
    mask = target >= 0
    return F.nll_loss(log_p[mask], target[mask])


np.random.seed(0)
images = np.random.randn(12, 3, 20, 20).astype(np.float32)
labels = np.random.randint(-1, N_CLASSES, (12, 20, 20))

model = FCN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(3):
    for i in range(0, 12, 4):
        x = Variable(torch.from_numpy(images[i:i + 4]))
        t = Variable(torch.from_numpy(labels[i:i + 4]).long())
        optimizer.zero_grad()
        loss = cross_entropy2d(model(x), t)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
