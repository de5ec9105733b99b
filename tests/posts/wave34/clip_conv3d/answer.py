# -*- coding: utf-8 -*-
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

BATCH = 2
FRAMES = 16
CROP = 112
N_ACTIONS = 6


class ActionC3D(nn.Module):
    """3D conv net over a clip of 16 frames (narrow version)."""

    def __init__(self, num_classes, width=8):
        super(ActionC3D, self).__init__()
        w = width
        self.group1 = nn.Sequential(
            nn.Conv3d(3, w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d(kernel_size=(1, 2, 2), stride=(1, 2, 2)))
        self.group2 = nn.Sequential(
            nn.Conv3d(w, 2 * w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d(kernel_size=2, stride=2))
        self.group3 = nn.Sequential(
            nn.Conv3d(2 * w, 4 * w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv3d(4 * w, 4 * w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d(kernel_size=2, stride=2))
        self.group4 = nn.Sequential(
            nn.Conv3d(4 * w, 8 * w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d(kernel_size=2, stride=2))
        self.group5 = nn.Sequential(
            nn.Conv3d(8 * w, 8 * w, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool3d(kernel_size=2, stride=2, padding=(0, 1, 1)))

        self.fc1 = nn.Sequential(
            nn.Linear(8 * w * 4 * 4, 128),
            nn.ReLU(),
            nn.Dropout(0.5))
        self.fc2 = nn.Sequential(
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Dropout(0.5))
        self.fc3 = nn.Linear(128, num_classes)

    def forward(self, x):
        out = self.group1(x)
        out = self.group2(out)
        out = self.group3(out)
        out = self.group4(out)
        out = self.group5(out)
        out = out.view(out.size(0), -1)
        out = self.fc1(out)
        out = self.fc2(out)
        return self.fc3(out)


def clip_batches(n):
    for _ in range(n):
        yield torch.rand(BATCH, 3, FRAMES, CROP, CROP), torch.randint(0, N_ACTIONS, (BATCH,))


torch.manual_seed(0)
net = ActionC3D(N_ACTIONS)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.003, momentum=0.9)

net.train()
for step, (clips, actions) in enumerate(clip_batches(3)):
    clips, actions = Variable(clips), Variable(actions)
    optimizer.zero_grad()
    scores = net(clips)
    loss = criterion(scores, actions)
    loss.backward()
    optimizer.step()
    print('step %d loss %.4f' % (step, loss.item()))
