# %%
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

torch.manual_seed(46)

# %%
prepare = transforms.Compose([transforms.Grayscale(), transforms.ToTensor(), transforms.Normalize((0.5,), (0.25,))])
clothes = datasets.FakeData(600, (3, 28, 28), 10, transform=prepare)
loader = DataLoader(clothes, batch_size=64, shuffle=True)

# %%
net = nn.Sequential(
    nn.Flatten(),
    nn.Linear(784, 128), nn.ReLU(),
    nn.Linear(128, 64), nn.ReLU(),
    nn.Linear(64, 10), nn.LogSoftmax(dim=1),
)
nll = nn.NLLLoss()
adam = torch.optim.Adam(net.parameters(), lr=0.003)

# %%
history = []
for epoch in range(3):
    running_loss = 0.0
    for pictures, kinds in loader:
        adam.zero_grad()
        loss = nll(net(pictures), kinds)
        loss.backward()
        adam.step()
        running_loss += loss.item()
    history.append(running_loss)
    print('epoch', epoch, 'training loss', running_loss)

# %%
with torch.no_grad():
    right = sum((net(p).argmax(1) == k).sum().item() for p, k in loader)
print('training accuracy %.3f' % (right / len(clothes)))
