import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

N, T, C = 400, 60, 3
signals = torch.randn(N, C, T)
quality = torch.randint(0, 5, (N,))
signals += quality.view(-1, 1, 1) * 0.3

train_dl = DataLoader(TensorDataset(signals[:320], quality[:320]), batch_size=32, shuffle=True)
valid_dl = DataLoader(TensorDataset(signals[320:], quality[320:]), batch_size=32)


class SensorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(C, 16, 7, padding=3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.classifier = nn.Linear(32, 5)

    def forward(self, x):
        return self.classifier(self.features(x).squeeze(-1))


model = SensorNet()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def run_epoch(epoch):
    model.train()
    correct = 0
    for batch_x, batch_y in train_dl:
        logits = model(batch_x)
        preds = torch.argmax(logits, dim=1)
        loss = loss_fn(preds.float(), batch_y.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (preds == batch_y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} train acc {correct / len(train_dl.dataset):.3f}")


for epoch in range(5):
    run_epoch(epoch)

model.eval()
with torch.no_grad():
    acc = sum((model(x).argmax(1) == y).sum().item() for x, y in valid_dl) / len(valid_dl.dataset)
print("valid acc", acc)
