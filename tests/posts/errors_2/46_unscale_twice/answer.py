import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ACCUM = 4

x = torch.randn(512, 20)
y = (x[:, :5].prod(dim=1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
device_type = "cuda" if torch.cuda.is_available() else "cpu"
scaler = GradScaler(device_type)

for epoch in range(3):
    running = 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        with autocast(device_type, dtype=torch.bfloat16):
            loss = criterion(model(xb), yb) / ACCUM
        scaler.scale(loss).backward()
        running += loss.item() * ACCUM

        if (i + 1) % ACCUM == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {running / len(loader):.4f} scale {scaler.get_scale():.0f}")
