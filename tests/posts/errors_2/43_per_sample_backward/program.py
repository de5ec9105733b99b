import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

n = 600
x = torch.randn(n, 10)
true_w = torch.randn(10, 1)
y = (x @ true_w > 0).float()
noisy = torch.rand(n) < 0.1
y[noisy] = 1 - y[noisy]
confidence = torch.where(noisy, torch.tensor(0.3), torch.tensor(1.0)).unsqueeze(1)
loader = DataLoader(TensorDataset(x, y, confidence), batch_size=50, shuffle=True)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss(reduction="none")
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)

for epoch in range(6):
    model.train()
    seen, total = 0, 0.0
    for xb, yb, wb in loader:
        logits = model(xb)
        loss = criterion(logits, yb) * wb
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.sum().item()
        seen += len(xb)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        clean = ((model(x) > 0).float() == (x @ true_w > 0).float()).float().mean().item()
    print(f"epoch {epoch} loss {total / seen:.4f} clean acc {clean:.3f}")
