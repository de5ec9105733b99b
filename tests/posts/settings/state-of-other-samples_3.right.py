# line 44: the hidden state of the batch before, made of other shuffled customers, is where the next batch begins
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PurchaseLSTM(nn.Module):
    def __init__(self, n_in=3, hidden=24, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.lstm = nn.LSTM(n_in, hidden, layers, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def init_hidden(self, batch_size):
        shape = (self.layers, batch_size, self.hidden)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, x, hidden):
        out, hidden = self.lstm(x, hidden)
        return self.fc(out[:, -1]).squeeze(-1), hidden


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


def customers(n, weeks=12):
    trend = torch.randn(n, 1)
    weekly = trend * torch.linspace(0, 1, weeks) + 0.3 * torch.randn(n, weeks)
    other = torch.randn(n, weeks, 2)
    return TensorDataset(torch.cat([weekly.unsqueeze(-1), other], dim=-1), (trend.squeeze(1) > 0).float())


torch.manual_seed(0)
BATCH = 32
model = PurchaseLSTM()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
train_loader = DataLoader(customers(480), batch_size=BATCH, shuffle=True, drop_last=True)
for epoch in range(4):
    model.train()
    for x, churned in train_loader:
        hidden = model.init_hidden(BATCH)
        optimizer.zero_grad()
        logit, hidden = model(x, hidden)
        loss = criterion(logit, churned)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())

model.eval()
right = 0
test = customers(160)
with torch.no_grad():
    for x, churned in DataLoader(test, batch_size=BATCH):
        logit, _ = model(x, model.init_hidden(len(x)))
        right += ((logit > 0) == churned.bool()).sum().item()
print("accuracy", right / len(test))
