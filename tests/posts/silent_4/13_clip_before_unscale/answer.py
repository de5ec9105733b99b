import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
device = "cuda" if torch.cuda.is_available() else "cpu"

seq = torch.randn(512, 40, 6)
target = seq.cumsum(1)[:, -1].tanh().sum(1, keepdim=True)
loader = DataLoader(TensorDataset(seq, target), batch_size=64, shuffle=True)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(6, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.head(h[-1])


model = Regressor().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler(device)

for epoch in range(6):
    model.train()
    running = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=torch.float16, enabled=device == "cuda"):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        running += loss.item() * len(x)
    print(f"epoch {epoch}: loss {running / len(seq):.4f}")
