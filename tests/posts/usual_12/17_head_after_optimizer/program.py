# %% [markdown]
# # Chest X-ray style transfer learning (pneumonia / normal)
# backbone pretrained by us on the big unlabeled set -> here only simulated by a rotation task

# %%
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import resnet18

torch.manual_seed(0)
np.random.seed(0)


# %%
def blobs(n, n_pos):
    x = np.random.randn(n, 1, 48, 48).astype("float32") * 0.6
    y = np.random.randint(0, n_pos, n)
    for i in range(n):
        r, c = divmod(int(y[i]), 2)
        x[i, 0, 4 + 24 * r:20 + 24 * r, 4 + 24 * c:20 + 24 * c] += 1.0
    x = np.repeat(x, 3, axis=1)
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


def accuracy(net, loader):
    net.eval()
    good = 0
    with torch.no_grad():
        for xb, yb in loader:
            good += (net(xb).argmax(1) == yb).sum().item()
    return good / len(loader.dataset)


# %% pretraining on 4 positions
pretrain_dl = DataLoader(blobs(128, 4), batch_size=32, shuffle=True)
net = resnet18(weights=None, num_classes=4)
opt = optim.Adam(net.parameters(), lr=1e-3)
for xb, yb in pretrain_dl:
    net.train()
    opt.zero_grad()
    nn.functional.cross_entropy(net(xb), yb).backward()
    opt.step()
torch.save(net.state_dict(), "backbone.pt")

# %% finetuning data
train_dl = DataLoader(blobs(128, 2), batch_size=32, shuffle=True)
valid_dl = DataLoader(blobs(64, 2), batch_size=32)

# %% model: load the backbone, small learning rate for it, two classes
model = resnet18(weights=None, num_classes=4)
model.load_state_dict(torch.load("backbone.pt"))

optimizer = optim.SGD(
    [
        {"params": [p for n, p in model.named_parameters() if not n.startswith("fc.")], "lr": 1e-4},
        {"params": model.fc.parameters(), "lr": 3e-2},
    ],
    momentum=0.9,
)
model.fc = nn.Linear(model.fc.in_features, 2)
criterion = nn.CrossEntropyLoss()

# %% training
start = model.fc.weight.detach().clone()
for epoch in range(2):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    print("epoch", epoch, "loss %.3f" % (running / len(train_dl.dataset)), "valid acc %.3f" % accuracy(model, valid_dl))
print("change of the head: %.5f" % (model.fc.weight.detach() - start).norm().item())
