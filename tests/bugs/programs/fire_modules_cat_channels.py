# squeezenet for 64x64 crops, typed from the paper's figure
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, stride=2)

        self.squeeze1 = nn.Conv2d(64, 16, 1)
        self.expand1_1 = nn.Conv2d(16, 64, 1)
        self.expand1_3 = nn.Conv2d(16, 64, 3, padding=1)

        self.squeeze2 = nn.Conv2d(64, 32, 1)
        self.expand2_1 = nn.Conv2d(32, 128, 1)
        self.expand2_3 = nn.Conv2d(32, 128, 3, padding=1)

        self.drop = nn.Dropout(0.5)
        self.classifier = nn.Conv2d(256, 10, 1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 3, 2)

        s = F.relu(self.squeeze1(x))
        x = torch.cat([F.relu(self.expand1_1(s)), F.relu(self.expand1_3(s))], 1)

        s = F.relu(self.squeeze2(x))
        x = torch.cat([F.relu(self.expand2_1(s)), F.relu(self.expand2_3(s))], 1)

        x = self.classifier(self.drop(x))
        return x.mean(dim=(2, 3))


def example_inputs():
    return (torch.randn(2, 3, 64, 64),)
