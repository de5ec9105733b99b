# Exercise 3: logistic regression "by hand" (only autograd is allowed, no torch.nn, no torch.optim)
import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)

# exam scores of students -> admitted or not
n = 200
exam1 = np.random.uniform(30, 100, n)
exam2 = np.random.uniform(30, 100, n)
admitted = (0.6 * exam1 + 0.4 * exam2 + np.random.normal(0, 4, n) > 65).astype(np.float32)
np.savetxt('ex3data.txt', np.c_[exam1, exam2, admitted], delimiter=',', fmt='%.3f')

data = np.loadtxt('ex3data.txt', delimiter=',', dtype=np.float32)
X, y = torch.tensor(data[:, :2]), torch.tensor(data[:, 2:])
X_train, y_train = X[:150], y[:150]
X_test, y_test = X[150:], y[150:]

# feature scaling with the training statistics
mu, sigma = X_train.mean(dim=0), X_train.std(dim=0)
X_train = (X_train - mu) / sigma
X_test = (X_test - mu) / sigma

# parameters
w = torch.zeros(2, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def hypothesis(X):
    return torch.sigmoid(X @ w + b)


def cost(p, y):
    p = p.clamp(1e-7, 1 - 1e-7)
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()


alpha = 0.5
iterations = 200
J_history = []

for it in range(iterations):
    J = cost(hypothesis(X_train), y_train)
    J.backward()
    with torch.no_grad():
        w -= alpha * w.grad
        b -= alpha * b.grad
        w.grad.zero_()
        b.grad.zero_()
    J_history.append(J.item())
    if it % 20 == 0:
        print('iteration %4d   J = %.5f' % (it, J.item()))

# evaluation
with torch.no_grad():
    train_acc = ((hypothesis(X_train) > 0.5).float() == y_train).float().mean().item()
    test_acc = ((hypothesis(X_test) > 0.5).float() == y_test).float().mean().item()
print('w =', w.detach().flatten().tolist(), ' b =', b.item())
print('train accuracy %.3f, test accuracy %.3f' % (train_acc, test_acc))
print('cost never increased:', all(j1 <= j0 + 1e-6 for j0, j1 in zip(J_history, J_history[1:])))
