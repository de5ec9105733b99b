import torch
from torch import nn
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 + x * (1 - s))


class SwishLayer(nn.Module):
    def forward(self, x):
        return Swish.apply(x)


X, y = load_diabetes(return_X_y=True)
order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0)).numpy()
X, y = X[order], y[order].reshape(-1, 1)
sx, sy = StandardScaler().fit(X[:340]), StandardScaler().fit(y[:340])
X = torch.tensor(sx.transform(X), dtype=torch.float32)
y = torch.tensor(sy.transform(y), dtype=torch.float32)
X_train, y_train, X_test, y_test = X[:340], y[:340], X[340:], y[340:]

model = nn.Sequential(nn.Linear(10, 16), SwishLayer(), nn.Linear(16, 16), SwishLayer(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
loss_fn = nn.MSELoss()

for epoch in range(1, 61):
    model.train()
    for idx in torch.randperm(len(X_train)).split(32):
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            test_loss = loss_fn(model(X_test), y_test).item()
        print(f"epoch {epoch}: test mse {test_loss:.3f}")
