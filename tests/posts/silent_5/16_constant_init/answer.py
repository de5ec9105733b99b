import torch
from torch import nn
from sklearn.datasets import make_circles
from sklearn.model_selection import train_test_split


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)


features, target = make_circles(n_samples=1200, noise=0.08, factor=0.5, random_state=1)
x_train, x_val, y_train, y_val = train_test_split(features, target, test_size=0.25, random_state=1)
x_train = torch.as_tensor(x_train, dtype=torch.float32)
x_val = torch.as_tensor(x_val, dtype=torch.float32)
y_train = torch.as_tensor(y_train)
y_val = torch.as_tensor(y_val)

model = nn.Sequential(
    nn.Linear(2, 24),
    nn.Tanh(),
    nn.Linear(24, 24),
    nn.Tanh(),
    nn.Linear(24, 2),
)
model.apply(init_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(1, 31):
    model.train()
    for idx in torch.randperm(len(x_train)).split(64):
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(dim=1) == y_val).float().mean()
        print(f"epoch {epoch}: val accuracy {acc:.3f}")
