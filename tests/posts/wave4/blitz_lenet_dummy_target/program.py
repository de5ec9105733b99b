# coding: utf-8
# Neural networks, following the sixty minute introduction
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):

    def __init__(self):
        super(Net, self).__init__()
        # 1 input image channel, 6 output channels, 5x5 square convolution
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, self.num_flat_features(x))
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x

    def num_flat_features(self, x):
        size = x.size()[1:]
        num_features = 1
        for s in size:
            num_features *= s
        return num_features


net = Net()
print(net)
params = list(net.parameters())
print(len(params), params[0].size())

input = torch.randn(1, 1, 32, 32)
out = net(input)
net.zero_grad()
out.backward(torch.randn(1, 10))

# loss function
output = net(input)
target = torch.arange(1.0, 11.0)  # a dummy target, for example
criterion = nn.MSELoss()
loss = criterion(output, target)
print(loss)
print(loss.grad_fn.next_functions[0][0])

# backprop and update
optimizer = optim.SGD(net.parameters(), lr=0.01)
for i in range(3):
    optimizer.zero_grad()
    output = net(input)
    loss = criterion(output, target)
    loss.backward()
    optimizer.step()
    print(i, loss.item(), net.conv1.bias.grad.abs().max().item())
