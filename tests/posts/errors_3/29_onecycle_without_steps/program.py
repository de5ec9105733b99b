import torch
import torch.nn as nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS, MAX_LR = 4, 0.1

x = torch.rand(512, 1, 16, 16)
y = (x.mean(dim=(1, 2, 3)) > 0.5).long()
train_dl = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 8 * 8, 2)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.conv2(x))
        return self.fc(x.flatten(1))


model = SmallCNN()
optimizer = torch.optim.SGD(model.parameters(), lr=MAX_LR / 25, momentum=0.9, nesterov=True)
scheduler = OneCycleLR(optimizer, max_lr=MAX_LR, epochs=EPOCHS, pct_start=0.25)

for epoch in range(EPOCHS):
    for xb, yb in train_dl:
        loss = nn.functional.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")
