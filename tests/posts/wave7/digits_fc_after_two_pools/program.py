import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader

classes = ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9')

X = torch.rand(640, 1, 28, 28)
Y = torch.randint(0, len(classes), (640,))
trainloader = DataLoader(TensorDataset(X[:512], Y[:512]), batch_size=32, shuffle=True)
testloader = DataLoader(TensorDataset(X[512:], Y[512:]), batch_size=32, shuffle=False)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 4)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.fc1 = nn.Linear(144, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, len(classes))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

for epoch in range(2):
    running_loss = 0.0
    for i, data in enumerate(trainloader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print('epoch %d loss: %.3f' % (epoch + 1, running_loss / len(trainloader)))

net.eval()
correct = 0
total = 0
with torch.no_grad():
    for images, labels in testloader:
        predicted = net(images).argmax(dim=1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
print('Accuracy on the test images: %d %%' % (100 * correct / total))
