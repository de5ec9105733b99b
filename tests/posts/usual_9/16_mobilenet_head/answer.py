# In[1]:
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset
import torchvision

print(torch.__version__)

# In[2]:
# Waste sorting: 5 kinds of garbage. The pictures are generated so that the notebook runs anywhere.
LABELS = ["glass", "metal", "organic", "paper", "plastic"]


class WasteImages(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, len(LABELS), n)
        self.x = rng.normal(0, 0.5, (n, 3, 64, 64)).astype(np.float32)
        for img, k in zip(self.x, self.y):
            img[k % 3, 10 * k + 4:10 * k + 16] += 1.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


train_dl = DataLoader(WasteImages(96, 0), batch_size=16, shuffle=True)
valid_dl = DataLoader(WasteImages(32, 1), batch_size=16)

# In[3]:
# in the real notebook: weights="IMAGENET1K_V1"
device = "cuda" if torch.cuda.is_available() else "cpu"


def get_model(name, n_out, freeze=True):
    net = getattr(torchvision.models, name)(weights=None)
    if freeze:
        for p in net.parameters():
            p.requires_grad_(False)
    in_features = net.classifier[-1].in_features
    net.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(in_features, n_out))
    return net.to(device)


# In[4]:
def train_one_epoch(net, loader, optimizer, loss_fn):
    net.train()
    total = 0.0
    for xb, yb in loader:
        xb, yb = xb.to(device), yb.to(device)
        loss = loss_fn(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
    return total / len(loader.dataset)


@torch.no_grad()
def validate(net, loader):
    net.eval()
    hits = 0
    for xb, yb in loader:
        hits += (net(xb.to(device)).argmax(1).cpu() == yb).sum().item()
    return hits / len(loader.dataset)


# In[5]:
torch.manual_seed(0)
net = get_model("mobilenet_v2", len(LABELS))
optimizer = optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(2):
    loss = train_one_epoch(net, train_dl, optimizer, loss_fn)
    print(f"epoch {epoch}: train loss {loss:.3f}, valid acc {validate(net, valid_dl):.3f}")
