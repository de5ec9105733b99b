import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

# hyper parameters
num_epochs = 2
batch_size = 50
learning_rate = 0.001


class DigitNet(nn.Module):
    def __init__(self, num_classes=10):
        super(DigitNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.relu = nn.ReLU()
        self.fc1 = nn.Linear(9408, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        out = self.relu(self.conv1(x))
        out = self.relu(self.conv2(out))
        out = self.fc1(out.view(out.size(0), -1))
        out = self.relu(out)
        out = self.fc2(out)
        return out


def make_digits(n, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (n,), generator=g)
    images = 0.2 * torch.rand(n, 1, 28, 28, generator=g)
    for k in range(n):
        row = 2 + 2 * int(labels[k])
        images[k, 0, row:row + 4, 6:22] += 0.7
    return TensorDataset(images, labels)


train_loader = DataLoader(make_digits(500, 0), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(make_digits(200, 1), batch_size=batch_size, shuffle=False)

net = DigitNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=learning_rate)

# train
for epoch in range(num_epochs):
    for i, (images, labels) in enumerate(train_loader):
        images = Variable(images)
        labels = Variable(labels)

        optimizer.zero_grad()
        outputs = net(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()

        if (i + 1) % 5 == 0:
            print('Epoch: [%d/%d], Step: [%d/%d], Loss: %.4f'
                  % (epoch + 1, num_epochs, i + 1, len(train_loader), loss.item()))

# test
correct = 0
total = 0
for images, labels in test_loader:
    images = Variable(images)
    outputs = net(images)
    _, predicted = torch.max(outputs.data, 1)
    total += labels.size(0)
    correct += (predicted == labels).sum().item()
print('Accuracy on the test digits: %.1f %%' % (100.0 * correct / total))
