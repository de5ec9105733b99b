# %% imports
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(13)
np.random.seed(42)
device = "cuda" if torch.cuda.is_available() else "cpu"

# %% data generation: y = 1 + 2x + noise
true_b, true_w = 1.0, 2.0
N = 120
x = np.random.rand(N, 1)
y = true_b + true_w * x + 0.1 * np.random.randn(N, 1)

# %% data preparation
dataset = TensorDataset(torch.as_tensor(x).float(), torch.as_tensor(y).float())
n_train = int(0.8 * N)
train_set, val_set = random_split(dataset, [n_train, N - n_train])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=16)


# %% model configuration
class LineModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 1)

    def forward(self, x):
        return self.linear(x)


lr = 0.1
model = LineModel().to(device)
optimizer = optim.SGD(model.parameters(), lr=lr)

# %% what does the loss function actually compute?
loss_fn = nn.MSELoss(reduction="mean")
print(loss_fn)

outputs = torch.tensor(0.25, 1.5)
targets = torch.tensor(1.75, 1.1)
print("mean squared error by hand:", ((outputs - targets) ** 2).mean())
print("mean squared error       :", loss_fn(outputs, targets))


# %% higher-order helpers
def make_train_step(model, loss_fn, optimizer):
    def step(xb, yb):
        model.train()
        yhat = model(xb)
        loss = loss_fn(yhat, yb)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


def make_val_step(model, loss_fn):
    def step(xb, yb):
        model.eval()
        with torch.no_grad():
            return loss_fn(model(xb), yb).item()

    return step


def run_loader(loader, step):
    losses = [step(xb.to(device), yb.to(device)) for xb, yb in loader]
    return np.mean(losses)


# %% training
train_step = make_train_step(model, loss_fn, optimizer)
val_step = make_val_step(model, loss_fn)
history = {"train": [], "val": []}
for epoch in range(40):
    history["train"].append(run_loader(train_loader, train_step))
    history["val"].append(run_loader(val_loader, val_step))

print("train %.4f  val %.4f" % (history["train"][-1], history["val"][-1]))
print(model.state_dict())
