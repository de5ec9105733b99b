# Fit y = 2x on a few points and predict for a new x
import torch
import torch.nn as nn


class LinearRegression(nn.Module):
    def __init__(self, input_size, output_size):
        super().__init__()
        self.lin = nn.Linear(input_size, output_size)

    def forward(self, x):
        return self.lin(x)


torch.manual_seed(0)
X = torch.tensor([[1], [2], [3], [4]], dtype=torch.float32)
Y = torch.tensor([[2], [4], [6], [8]], dtype=torch.float32)
X_test = torch.tensor([10], dtype=torch.float32)

n_samples, n_features = X.shape
hidden_units = 1
model = LinearRegression(n_features, hidden_units)
print('before:', model(X_test).detach())

learning_rate = 0.01
n_iters = 100
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

for epoch in range(n_iters):
    y_pred = model(X)
    l = criterion(y_pred, Y)
    l.backward()
    optimizer.step()
    optimizer.zero_grad()
    if epoch % 20 == 0:
        w, b = model.parameters()
        print('epoch', epoch + 1, 'w =', round(w[0][0].item(), 3), 'loss =', round(l.item(), 6))

print('after:', model(X_test).detach())
