import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)

SEQ_LEN, FEATURES, HIDDEN, LAYERS = 15, 4, 32, 2
BATCH = 32

series = torch.randn(500, SEQ_LEN, FEATURES).cumsum(dim=1)
target = series[:, -5:, 0].mean(dim=1, keepdim=True)
train_loader = DataLoader(TensorDataset(series[:420], target[:420]), batch_size=BATCH, shuffle=True)
val_loader = DataLoader(TensorDataset(series[420:], target[420:]), batch_size=BATCH)


class LSTMRegressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(FEATURES, HIDDEN, LAYERS, batch_first=True)
        self.fc = nn.Linear(HIDDEN, 1)

    def init_hidden(self, batch_size):
        h = torch.zeros(LAYERS, batch_size, HIDDEN)
        c = torch.zeros(LAYERS, batch_size, HIDDEN)
        return h, c

    def forward(self, x, hidden):
        out, hidden = self.lstm(x, hidden)
        return self.fc(out[:, -1]), hidden


model = LSTMRegressor()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        hidden = model.init_hidden(x.size(0))
        pred, _ = model(x, hidden)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    val_loss = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            hidden = model.init_hidden(x.size(0))
            pred, _ = model(x, hidden)
            val_loss += criterion(pred, y).item() * x.size(0)
    print(f"epoch {epoch} val mse {val_loss / len(val_loader.dataset):.4f}")
