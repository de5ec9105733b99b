import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset


def make_classification(n_samples, n_features, n_informative, seed=42):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, n_samples)
    X = rng.randn(n_samples, n_features)
    X[:, :n_informative] += 1.5 * (2 * y[:, None] - 1)
    return X, y


def train_test_split(X, y, test_size=0.25):
    order = np.random.RandomState(0).permutation(len(X))
    cut = int(len(X) * (1 - test_size))
    return X[order[:cut]], X[order[cut:]], y[order[:cut]], y[order[cut:]]


class SingleLayeredNetwork(nn.Module):
    def __init__(self, input_dimension, output_dimension):
        super(SingleLayeredNetwork, self).__init__()
        self.linear = nn.Linear(input_dimension, output_dimension)

    def forward(self, x):
        return self.linear(x)


X, y = make_classification(n_samples=6000, n_features=10, n_informative=2)
X_train, X_test, y_train, y_test = train_test_split(X, y)

X_train = Variable(torch.from_numpy(X_train)).double()
y_train = Variable(torch.from_numpy(y_train)).long()
X_test = Variable(torch.from_numpy(X_test)).double()
y_test = Variable(torch.from_numpy(y_test)).long()

batch_size = 100
n_iters = 150
num_epochs = int(n_iters / (len(X_train) / batch_size))
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=batch_size, shuffle=True)

model = SingleLayeredNetwork(X_train.shape[1], 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

iteration = 0
for epoch in range(num_epochs):
    for points, labels in train_loader:
        optimizer.zero_grad()
        outputs = model(points)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        iteration += 1
        if iteration % 45 == 0:
            predicted = model(X_test).argmax(1)
            accuracy = 100.0 * (predicted == y_test).sum().item() / len(y_test)
            print('Iteration: {}. Loss: {:.4f}. Accuracy: {:.2f}'.format(iteration, loss.item(), accuracy))
