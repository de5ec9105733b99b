# line 20: set_parameter_requires_grad sets requires_grad on the module (no effect on its parameters)
import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.layer2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)))


def set_parameter_requires_grad(net, feature_extracting):
    if feature_extracting:
        for child in net.children():
            child.requires_grad = False


def initialize_model(num_classes, feature_extract=True):
    net = Backbone()
    set_parameter_requires_grad(net, feature_extract)
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    return net


def colours(n):
    y = torch.randint(3, (n,))
    img = torch.rand(n, 3, 12, 12) * 0.5
    img[torch.arange(n), y] += 0.4
    return img, y


torch.manual_seed(0)
net = initialize_model(3)
params = [p for p in net.parameters() if p.requires_grad]
opt = torch.optim.SGD(params, lr=0.05, momentum=0.9)
for it in range(40):
    img, y = colours(16)
    loss = nn.functional.cross_entropy(net(img), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    img, y = colours(100)
    print("accuracy", (net(img).argmax(1) == y).float().mean().item())
