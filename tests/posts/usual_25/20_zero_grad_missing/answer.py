import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(1)
np.random.seed(1)

digits = load_digits()
X = (digits.data / 16.0).astype(np.float32)
y = digits.target.astype(np.int64)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(64, 100)
        self.fc2 = nn.Linear(100, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

batch_size = 32
n_train = X_train.shape[0]

for epoch in range(10):
    net.train()
    order = np.random.permutation(n_train)
    running_loss = 0.0
    batches = 0
    for start in range(0, n_train, batch_size):
        idx = order[start:start + batch_size]
        inputs = Variable(torch.from_numpy(X_train[idx]))
        targets = Variable(torch.from_numpy(y_train[idx]))

        outputs = net(inputs)
        loss = criterion(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        running_loss += loss.item()
        batches += 1

    net.eval()
    with torch.no_grad():
        test_out = net(torch.from_numpy(X_test))
        _, predicted = torch.max(test_out, 1)
        acc = (predicted.numpy() == y_test).mean()
    print('Epoch %d loss: %.4f  test accuracy: %.2f%%' % (epoch + 1, running_loss / batches, 100 * acc))
