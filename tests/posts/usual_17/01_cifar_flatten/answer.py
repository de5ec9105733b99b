import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

# Assignment 3: image classifier on 32x32 colour images
torch.manual_seed(0)
batch_size = 32
n_epochs = 2
classes = ('plane', 'car', 'bird', 'cat', 'deer',
           'dog', 'frog', 'horse', 'ship', 'truck')


def get_loaders():
    x_train = torch.rand(320, 3, 32, 32)
    y_train = torch.randint(0, 10, (320,))
    x_test = torch.rand(96, 3, 32, 32)
    y_test = torch.randint(0, 10, (96,))
    x_train = (x_train - 0.5) / 0.5
    x_test = (x_test - 0.5) / 0.5
    trainloader = DataLoader(TensorDataset(x_train, y_train), batch_size=batch_size, shuffle=True)
    testloader = DataLoader(TensorDataset(x_test, y_test), batch_size=batch_size)
    return trainloader, testloader


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(64 * 4 * 4, 256)
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.pool(F.relu(self.conv3(x)))
        x = torch.flatten(x, 1)
        x = self.dropout(x)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return x


def test(net, testloader):
    net.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for images, labels in testloader:
            outputs = net(images)
            _, predicted = torch.max(outputs, 1)
            total += labels.size(0)
            correct += (predicted == labels).sum().item()
    return 100 * correct / total


trainloader, testloader = get_loaders()
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(n_epochs):
    net.train()
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print('epoch %d loss %.3f acc %.1f%%' % (epoch + 1, running_loss / len(trainloader), test(net, testloader)))
print('Finished Training')
