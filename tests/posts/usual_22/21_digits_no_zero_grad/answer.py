# %%
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# %%
digits = load_digits()
X = (digits.images / 16.0).astype(np.float32)
y = digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)

train_ds = TensorDataset(torch.from_numpy(X_train).unsqueeze(1), torch.from_numpy(y_train).long())
test_ds = TensorDataset(torch.from_numpy(X_test).unsqueeze(1), torch.from_numpy(y_test).long())
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=256)

# %%
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 2 * 2, 10),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

# %%
history = []
for epoch in range(8):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        logits = model(xb)
        loss = loss_fn(logits, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
    history.append(running / len(train_ds))

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            correct += (model(xb).argmax(dim=1) == yb).sum().item()
    print(f"epoch {epoch + 1}: train loss {history[-1]:.4f}, test accuracy {correct / len(test_ds):.4f}")

# %%
print("train loss went from", round(history[0], 4), "to", round(history[-1], 4))
