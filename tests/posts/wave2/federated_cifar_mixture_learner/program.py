import torch
import torch.nn as nn
import torch.nn.functional as F


class CIFAR10CNN(nn.Module):
    """the client network: two convolutions, two linear layers"""

    def __init__(self, num_classes=10):
        super(CIFAR10CNN, self).__init__()
        self.conv1 = nn.Conv2d(3, 32, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.fc1 = nn.Linear(64 * 6 * 6, 256)
        self.output = nn.Linear(256, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.output(x)


class MixtureLearner(nn.Module):
    """several networks and one weight for each of them"""

    def __init__(self, n_learners=3, num_classes=10):
        super(MixtureLearner, self).__init__()
        self.learners = nn.ModuleList([CIFAR10CNN(num_classes) for _ in range(n_learners)])
        self.pi = nn.Parameter(torch.full((n_learners,), 1.0 / n_learners))

    def forward(self, images):
        # images as they come from the pickled CIFAR arrays of the clients, scaled to [0, 1]
        x = (images - 0.5) / 0.5
        probs = [F.softmax(learner(x), dim=1) for learner in self.learners]
        weights = F.softmax(self.pi, dim=0)
        mixed = sum(w * p for w, p in zip(weights, probs))
        return torch.log(mixed.clamp_min(1e-8))
