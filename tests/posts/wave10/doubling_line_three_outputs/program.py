import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# f(x) = 2 * x
X = torch.tensor([[1], [2], [3], [4]], dtype=torch.float32)
Y = torch.tensor([[2], [4], [6], [8]], dtype=torch.float32)
X_test = torch.tensor([[5], [10]], dtype=torch.float32)

n_samples, n_features = X.shape
print(n_samples, n_features)


class LinearRegression(nn.Module):
    def __init__(self, input_dim, output_dim):
        super(LinearRegression, self).__init__()
        self.lin = nn.Linear(input_dim, output_dim)

    def forward(self, x):
        return self.lin(x)


input_size = n_features
output_size = 3
model = LinearRegression(input_size, output_size)

print(f'Prediction before training: f(10) = {model(X_test)[1]}')

learning_rate = 0.01
n_iters = 200
train_loader = DataLoader(TensorDataset(X, Y), batch_size=4, shuffle=True)

loss = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

for epoch in range(n_iters):
    for x, y in train_loader:
        y_predicted = model(x)
        l = loss(y_predicted, y)
        l.backward()
        optimizer.step()
        optimizer.zero_grad()
    if epoch % 50 == 0:
        w, b = model.parameters()
        print('epoch', epoch + 1, ': w =', w[0][0].item(), 'loss =', l.item())

print(f'Prediction after training: f(10) = {model(X_test)[1]}')
