# multilayer perceptron from scratch
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(3)
torch.manual_seed(3)


# %% data: 28 x 28 garments, ten kinds
def load_garments(batch_size, n_train=1024, n_test=256):
    protos = torch.rand(10, 1, 28, 28)

    def split(n):
        y = torch.randint(0, 10, (n,))
        x = (protos[y] + 0.4 * torch.randn(n, 1, 28, 28)).clamp(0, 1)
        return TensorDataset(x, y)

    return (DataLoader(split(n_train), batch_size, shuffle=True),
            DataLoader(split(n_test), batch_size))


batch_size = 64
train_iter, test_iter = load_garments(batch_size)

# %% parameters
num_inputs, num_outputs, num_hiddens = 784, 10, 128

W1 = torch.tensor(np.random.normal(0, 0.01, (num_inputs, num_hiddens)))
b1 = torch.zeros(num_hiddens, dtype=torch.float)
W2 = torch.tensor(np.random.normal(0, 0.01, (num_hiddens, num_outputs)))
b2 = torch.zeros(num_outputs, dtype=torch.float)

params = [W1, b1, W2, b2]
for param in params:
    param.requires_grad_(requires_grad=True)


# %% model
def relu(X):
    return torch.max(input=X, other=torch.tensor(0.0))


def net(X):
    X = X.view((-1, num_inputs))
    H = relu(torch.matmul(X, W1) + b1)
    return torch.matmul(H, W2) + b2


loss = torch.nn.CrossEntropyLoss()


# %% training
def sgd(params, lr):
    for p in params:
        p.data -= lr * p.grad


def evaluate_accuracy(data_iter, net):
    hits, n = 0.0, 0
    with torch.no_grad():
        for X, y in data_iter:
            hits += (net(X).argmax(dim=1) == y).float().sum().item()
            n += y.shape[0]
    return hits / n


def train(net, train_iter, test_iter, loss, num_epochs, params, lr):
    for epoch in range(num_epochs):
        train_l_sum, train_acc_sum, n = 0.0, 0.0, 0
        for X, y in train_iter:
            y_hat = net(X)
            l = loss(y_hat, y)
            for p in params:
                if p.grad is not None:
                    p.grad.data.zero_()
            l.backward()
            sgd(params, lr)
            train_l_sum += l.item() * y.shape[0]
            train_acc_sum += (y_hat.argmax(dim=1) == y).sum().item()
            n += y.shape[0]
        test_acc = evaluate_accuracy(test_iter, net)
        print("epoch %d, loss %.4f, train acc %.3f, test acc %.3f"
              % (epoch + 1, train_l_sum / n, train_acc_sum / n, test_acc))


num_epochs, lr = 4, 0.3
train(net, train_iter, test_iter, loss, num_epochs, params, lr)
