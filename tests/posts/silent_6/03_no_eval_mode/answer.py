# %% imports
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

# %% data: textures with different stripe directions
N, S = 900, 16
ys, xs = torch.meshgrid(torch.arange(S).float(), torch.arange(S).float(), indexing="ij")
angles = torch.tensor([0.0, 0.6, 1.2, 1.8, 2.4])
targets = torch.randint(0, 5, (N,))
phase = 6.28 * torch.rand(N, 1, 1)
a = angles[targets].view(-1, 1, 1)
pattern = torch.sin(0.9 * (xs * torch.cos(a) + ys * torch.sin(a)) + phase)
images = (pattern + 0.8 * torch.randn(N, S, S)).unsqueeze(1)

train_ds = TensorDataset(images[:700], targets[:700])
test_ds = TensorDataset(images[700:], targets[700:])
train_dl = DataLoader(train_ds, batch_size=50, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=8, shuffle=True)

# %% model
net = nn.Sequential(
    nn.Conv2d(1, 16, 5, padding=2),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.5),
    nn.Linear(32 * 16, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 5),
)
opt = optim.AdamW(net.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

# %% train
for epoch in range(8):
    net.train()
    epoch_loss = 0.0
    for xb, yb in train_dl:
        opt.zero_grad(set_to_none=True)
        out = net(xb)
        loss = loss_fn(out, yb)
        loss.backward()
        opt.step()
        epoch_loss += loss.item() * xb.size(0)
    print(f"epoch {epoch}: {epoch_loss / len(train_ds):.4f}")


# %% test
@torch.no_grad()
def accuracy(loader):
    net.eval()
    right = 0
    for xb, yb in loader:
        right += (net(xb).argmax(dim=1) == yb).sum().item()
    return right / len(loader.dataset)


# %%
for attempt in range(3):
    print(f"test accuracy, run {attempt}: {accuracy(test_dl):.3f}")

# %% one image alone and in company
with torch.no_grad():
    alone = net(images[700:701]).softmax(1)[0]
    together = net(images[700:732]).softmax(1)[0]
print("alone   ", [f"{v:.2f}" for v in alone.tolist()])
print("together", [f"{v:.2f}" for v in together.tolist()])
