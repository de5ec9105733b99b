import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)

# a classifier between two samples: if it is better than chance, they have different distributions
n, d = 512, 10
real = np.random.randn(n, d)
fake = np.random.randn(n, d) * 1.1 + 0.2
X = np.concatenate([real, fake]).astype(np.float32)
t = np.concatenate([np.ones(n), np.zeros(n)]).astype(np.float32)
perm = np.random.permutation(2 * n)
X, t = torch.from_numpy(X[perm]), torch.from_numpy(t[perm])
X_train, t_train, X_test, t_test = X[:768], t[:768], X[768:], t[768:]

critic = nn.Sequential(
    nn.Linear(d, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 1),
)
sigmoid = nn.Sigmoid()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

batch_size = 64
for epoch in range(20):
    order = torch.randperm(len(X_train))
    total = 0.
    for idx in order.split(batch_size):
        o = critic(X_train[idx])
        loss = criterion(o, t_train[idx].unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 0:
        print('epoch %d: loss %.4f' % (epoch, total / len(X_train)))

with torch.no_grad():
    p = sigmoid(critic(X_test)).squeeze(1)
    acc = ((p > 0.5).float() == t_test).float().mean()
print('test accuracy %.3f, p-value under chance %.4f' % (acc, 0.5 * (1 - torch.erf((acc - 0.5) * (2 * len(t_test)) ** 0.5))))
