import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES = 40
WINDOW = 60
STOCKS = 2130
DAYS = 1200
BATCH = 32


class PanelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(FEATURES, 32, (5, 1), stride=(5, 1))
        self.conv2 = nn.Conv2d(32, 64, (3, 1), stride=(3, 1))
        self.conv3 = nn.Conv2d(64, 16, (4, 1))
        self.out = nn.Conv1d(16, 1, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return self.out(x.squeeze(2)).squeeze(1)


def get_batches(X, Y, batch_size):
    order = torch.randperm(len(X))
    for i in range(0, len(X), batch_size):
        index = order[i:i + batch_size]
        yield X[index], Y[index]


def load_panel():
    X = torch.zeros(DAYS, FEATURES, WINDOW, STOCKS)
    Y = torch.randn(DAYS, STOCKS)
    return X, Y


device = torch.device("cuda")
X, Y = load_panel()
X = X.to(device)
Y = Y.to(device)
model = PanelNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(30):
    losses = []
    for x, y in get_batches(X, Y, BATCH):
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss", sum(losses) / len(losses))
