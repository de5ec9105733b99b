# Homework 3 - my first neural network
# Iris-like data, 4 features and 3 species
import torch
import torch.nn as nn
import numpy as np

np.random.seed(0)
torch.manual_seed(0)

# generate the flowers
means = np.array([[5.0, 3.4, 1.5, 0.2],
                  [5.9, 2.8, 4.3, 1.3],
                  [6.6, 3.0, 5.6, 2.0]])
X = []
Y = []
for species in range(3):
    for i in range(50):
        X.append(means[species] + 0.3 * np.random.randn(4))
        Y.append(species)
X = np.array(X)
Y = np.array(Y)

# shuffle
order = np.random.permutation(150)
X = X[order]
Y = Y[order]

# train / test split
X_train = torch.FloatTensor(X[:120])
Y_train = torch.LongTensor(Y[:120])
X_test = torch.FloatTensor(X[120:])
Y_test = torch.LongTensor(Y[120:])


class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 16)
        self.layer2 = nn.Linear(16, 8)
        self.layer3 = nn.Linear(8, 3)

    def forward(self, x):
        x = nn.ReLU(self.layer1(x))
        x = nn.ReLU(self.layer2(x))
        x = self.layer3(x)
        return x


net = Net()
print(net)

loss_function = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

history = []
for epoch in range(100):
    optimizer.zero_grad()
    output = net(X_train)
    loss = loss_function(output, Y_train)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if epoch % 20 == 0:
        print("Epoch", epoch, "Loss", loss.item())

# how good is it?
with torch.no_grad():
    output = net(X_test)
    _, predicted = torch.max(output, 1)
    correct = (predicted == Y_test).sum().item()
    print("Correct:", correct, "out of", len(Y_test))
