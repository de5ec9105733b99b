import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader


class BiEncoder(nn.Module):
    def __init__(self, n_mels=20, hidden=24, classes=4):
        super().__init__()
        self.lstm = nn.LSTM(n_mels, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, frames):
        out, (h_n, c_n) = self.lstm(frames)
        summary = torch.cat([h_n[-2], h_n[-1]], dim=1)
        return self.head(self.dropout(summary))


def spectrograms(n, steps=50):
    x = torch.randn(n, steps, 20)
    y = torch.randint(0, 4, (n,))
    for i in range(n):
        x[i, :4, y[i] * 5:y[i] * 5 + 5] += 1.5
    return x, y


torch.manual_seed(0)
xtr, ytr = spectrograms(800)
xva, yva = spectrograms(200)
loader = DataLoader(TensorDataset(xtr, ytr), batch_size=40, shuffle=True)
model = BiEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xva).argmax(dim=1) == yva).float().mean().item()
    print(f"{epoch} val acc {acc:.3f}")
