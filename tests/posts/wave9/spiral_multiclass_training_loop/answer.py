import numpy as np
import torch
from torch import nn

RANDOM_SEED = 42
N, D, K = 100, 2, 3  # points per class, features, classes
np.random.seed(RANDOM_SEED)
X = np.zeros((N * K, D))
y = np.zeros(N * K, dtype='uint8')
for j in range(K):
    ix = range(N * j, N * (j + 1))
    r = np.linspace(0.0, 1, N)
    t = np.linspace(j * 4, (j + 1) * 4, N) + np.random.randn(N) * 0.2
    X[ix] = np.c_[r * np.sin(t), r * np.cos(t)]
    y[ix] = j

device = "cuda" if torch.cuda.is_available() else "cpu"
X = torch.from_numpy(X).type(torch.float32)
y = torch.from_numpy(y).type(torch.float32)

perm = torch.randperm(len(X))
split = int(0.8 * len(X))
X_train, X_test = X[perm[:split]].to(device), X[perm[split:]].to(device)
y_train, y_test = y[perm[:split]].to(device), y[perm[split:]].to(device)


def accuracy(y_true, y_pred):
    correct = torch.eq(y_true, y_pred).sum().item()
    return correct / len(y_pred) * 100


class SpiralModel(nn.Module):
    def __init__(self, input_features, output_features, hidden_units=16):
        super().__init__()
        self.linear_layer_stack = nn.Sequential(
            nn.Linear(input_features, hidden_units), nn.Tanh(),
            nn.Linear(hidden_units, hidden_units), nn.Tanh(),
            nn.Linear(hidden_units, output_features),
        )

    def forward(self, x):
        return self.linear_layer_stack(x)


torch.manual_seed(RANDOM_SEED)
model = SpiralModel(D, K).to(device)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

epochs = 200
for epoch in range(epochs):
    model.train()
    train_logits = model(X_train)
    train_preds = torch.softmax(train_logits, dim=1).argmax(dim=1).type(torch.float32)
    loss = loss_fn(train_logits, y_train.long())
    train_acc = accuracy(y_train, train_preds)

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.inference_mode():
        test_logits = model(X_test)
        test_preds = torch.softmax(test_logits, dim=1).argmax(dim=1)
        test_acc = accuracy(y_test, test_preds)

    if epoch % 50 == 0:
        print(f"Epoch: {epoch} | Loss: {loss:.5f}, Acc: {train_acc:.2f}% | Test acc: {test_acc:.2f}%")
