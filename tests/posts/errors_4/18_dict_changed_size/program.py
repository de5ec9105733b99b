import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)

    def forward(self, x):
        return self.conv2(torch.relu(self.bn1(self.conv1(x))))


class Classifier(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.backbone = Backbone()
        self.fc = nn.Linear(16, n)

    def forward(self, x):
        return self.fc(self.backbone(x).mean(dim=(2, 3)))


def transfer(source, target):
    """Start target from source, without the old classification head."""
    state = source.state_dict()
    for key in state.keys():
        if key.startswith("fc."):
            state.pop(key)
    result = target.load_state_dict(state, strict=False)
    return result.missing_keys


torch.manual_seed(0)
pretrained = Classifier(100)
model = Classifier(7)
print("new layers:", transfer(pretrained, model))
x, y = torch.rand(6, 3, 32, 32), torch.randint(0, 7, (6,))
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
print("loss", loss.item())
