# %% imports
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(1)

# %% data: 32x32 colour images in ten classes
classes = ('plane', 'car', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck')


def fake_cifar(n):
    y = torch.randint(0, 10, (n,))
    tint = torch.linspace(-1, 1, 30).view(10, 3, 1, 1)
    x = torch.randn(n, 3, 32, 32) * 0.4 + tint[y]
    return TensorDataset(x, y)


trainloader = DataLoader(fake_cifar(256), batch_size=64, shuffle=True)
testloader = DataLoader(fake_cifar(100), batch_size=50, shuffle=False)


# %% network
class VGGSmall(nn.Module):
    def __init__(self):
        super(VGGSmall, self).__init__()
        self.plan = [32, 'M', 64, 'M', 128, 128, 'M', 256, 256, 'M', 256, 256, 'M']
        self.features = self._stack(self.plan)
        self.classifier = nn.Linear(256, 10)

    def forward(self, x):
        out = self.features(x)
        out = out.view(out.size(0), -1)
        out = self.classifier(out)
        return out

    def _stack(self, plan):
        layers = []
        channels = 3
        for item in plan:
            if item == 'M':
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                layers += [nn.Conv2d(channels, item, kernel_size=3, padding=1),
                           nn.BatchNorm2d(item),
                           nn.ReLU(inplace=True)]
                channels = item
        layers += [nn.AvgPool2d(kernel_size=1, stride=1)]
        return nn.Sequential(*layers)


net = VGGSmall().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=0.001)

# %% training
for epoch in range(2):
    for i, (inputs, labels) in enumerate(trainloader):
        inputs = inputs.to(device)
        labels = labels.to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        if i % 2 == 0:
            print('Epoch: %d Minibatch: %5d loss: %.3f' % (epoch + 1, i + 1, loss.item()))

print('Finished Training')

# %% test accuracy
correct = 0
total = 0
net.eval()
with torch.no_grad():
    for images, labels in testloader:
        images, labels = images.to(device), labels.to(device)
        outputs = net(images)
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()

print('Accuracy of the network on the test images: %.2f %%' % (100 * correct / total))
