import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

SEQ_LEN, N_FEATURES, N_CLASSES = 30, 6, 3


class ActivityLSTM(nn.Module):
    """Sensor windows (batch, time, features) -> activity class."""

    def __init__(self, hidden_size=32, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(N_FEATURES, hidden_size, num_layers)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden_size, N_CLASSES)

    def forward(self, x):
        out, (h_n, c_n) = self.lstm(x)
        last = out[:, -1, :]
        return self.fc(self.dropout(last))


y = torch.randint(0, N_CLASSES, (360,))
t = torch.linspace(0, 6.28, SEQ_LEN).view(1, SEQ_LEN, 1)
x = torch.sin((y.view(-1, 1, 1) + 1) * t).repeat(1, 1, N_FEATURES) + 0.3 * torch.randn(360, SEQ_LEN, N_FEATURES)

train_dl = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=30, shuffle=True)
val_dl = DataLoader(TensorDataset(x[300:], y[300:]), batch_size=30)

model = ActivityLSTM()
loss_fn = nn.CrossEntropyLoss()
optim = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    model.train()
    for xb, yb in train_dl:
        loss = loss_fn(model(xb), yb)
        optim.zero_grad()
        loss.backward()
        optim.step()

    model.eval()
    with torch.no_grad():
        acc = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_dl) / 60
    print(f"Epoch {epoch}: train loss {loss.item():.3f}, val acc {acc:.2f}")
