import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    """the network of the CIFAR-10 tutorial, for crops of 21 x 21"""

    def __init__(self, num_classes=10):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 2 * 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 2 * 2)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x


def layer_shapes(images):
    """the input and output sizes of all layers, for a table of the network"""
    model = Net().eval()
    rows, hooks = [], []

    def record(name):
        def hook(module, inputs, output):
            rows.append((name, tuple(inputs[0].shape), tuple(output.shape)))
        return hook

    for name, module in model.named_children():
        hooks.append(module.register_forward_hook(record(name)))
    with torch.no_grad():
        logits = model(images)
    for h in hooks:
        h.remove()
    for name, i, o in rows:
        print('%-6s %-20s %s' % (name, i, o))
    return logits
