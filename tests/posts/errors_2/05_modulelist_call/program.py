import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

data = load_wine()
x_train, x_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, stratify=data.target, random_state=3
)
scaler = StandardScaler().fit(x_train)
x_train = torch.tensor(scaler.transform(x_train), dtype=torch.float32)
x_test = torch.tensor(scaler.transform(x_test), dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)


class MLP(nn.Module):
    def __init__(self, sizes, p=0.2):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            layers.append(nn.Linear(a, b))
            layers.append(nn.ReLU())
            layers.append(nn.Dropout(p))
        self.hidden = nn.ModuleList(layers)
        self.out = nn.Linear(sizes[-2], sizes[-1])

    def forward(self, x):
        x = self.hidden(x)
        return self.out(x)


model = MLP([13, 64, 32, 3])
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(60):
    model.train()
    opt.zero_grad()
    loss = F.cross_entropy(model(x_train), y_train)
    loss.backward()
    opt.step()

model.eval()
with torch.no_grad():
    acc = (model(x_test).argmax(dim=1) == y_test).float().mean()
print(f"test accuracy {acc:.3f}")
