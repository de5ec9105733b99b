import torch
import torch.nn as nn
import torch.nn.functional as F


def mish(x):
    return x * torch.tanh(F.softplus(x))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 64, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.bn1 = nn.BatchNorm2d(64)
        self.conv2 = nn.Conv2d(64, 256, 5)
        self.bn2 = nn.BatchNorm2d(256)
        self.dp1 = nn.Dropout2d(p=0.25)
        self.fc1 = nn.Linear(256 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(mish(self.bn1(self.conv1(x))))
        x = self.pool(mish(self.bn2(self.conv2(x))))
        x = self.dp1(x)
        x = x.view(-1, 256 * 5 * 5)
        x = mish(self.fc1(x))
        x = mish(self.fc2(x))
        x = self.fc3(x)
        return x


class FullLayer(nn.Module):
    """explicit last layer, so that the covariance augmentation can reach its weight"""

    def __init__(self, feature_num, class_num):
        super(FullLayer, self).__init__()
        self.class_num = class_num
        self.fc = nn.Linear(feature_num, class_num)

    def forward(self, features):
        return self.fc(features)


class ISDAClassifier(nn.Module):
    def __init__(self, feature_num=84, num_classes=10):
        super(ISDAClassifier, self).__init__()
        self.net = Net()
        self.fc = FullLayer(feature_num, num_classes)

    def forward(self, images):
        features = self.net(images)
        logits = self.fc(features)
        return features, logits
