# Population statistics with DeepSets: estimate the entropy-like statistic of a set of samples
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

np.random.seed(0)
torch.manual_seed(0)


def gen_sets(n_sets, set_size=64):
    sigma = np.random.uniform(0.2, 2.0, size=n_sets)
    X = np.random.randn(n_sets, set_size, 2) * sigma[:, None, None]
    y = 0.5 * np.log(2 * np.pi * np.e * sigma ** 2)
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class PermEqui(nn.Module):
    def __init__(self, d_in, d_out):
        super(PermEqui, self).__init__()
        self.gamma = nn.Linear(d_in, d_out)
        self.lam = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        return self.gamma(x) - self.lam(x.mean(1, keepdim=True))


class DeepSet(nn.Module):
    def __init__(self, d_in=2, width=48):
        super(DeepSet, self).__init__()
        self.phi = nn.Sequential(
            PermEqui(d_in, width), nn.ELU(),
            PermEqui(width, width), nn.ELU(),
        )
        self.rho = nn.Sequential(
            nn.Linear(width, width), nn.ELU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.rho(self.phi(x).mean(1))


class Trainer(object):
    def __init__(self, model, lr=3e-3, batch_size=128):
        self.model = model
        self.batch_size = batch_size
        self.opt = optim.Adam(model.parameters(), lr=lr)
        self.mse = lambda a, b: ((a - b) ** 2).mean()

    def fit(self, X, y, epochs):
        n = X.shape[0]
        for epoch in range(epochs):
            self.model.train()
            perm = torch.randperm(n)
            tot = 0.0
            for i in range(0, n, self.batch_size):
                idx = perm[i:i + self.batch_size]
                y_pred = self.model(X[idx])
                loss = self.mse(y_pred, y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                tot += loss.item() * len(idx)
            if epoch % 5 == 0:
                print('epoch %3d  train mse %.4f' % (epoch, tot / n))

    def predict(self, X):
        self.model.eval()
        with torch.no_grad():
            return self.model(X).numpy().ravel()


X_train, y_train = gen_sets(1024)
X_test, y_test = gen_sets(256)

trainer = Trainer(DeepSet())
trainer.fit(X_train, y_train, epochs=30)

pred = trainer.predict(X_test)
order = np.argsort(y_test.numpy())
for j in order[::32]:
    print('true %.3f   predicted %.3f' % (y_test[j].item(), pred[j]))
print('spread of predictions', pred.std(), 'spread of truth', y_test.numpy().std())
