import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATE = 4
torch.manual_seed(0)
rng = np.random.default_rng(0)
inputs = torch.from_numpy(rng.normal(size=(110, 16)).astype(np.float32))
targets = inputs[:, :4].sum(1, keepdim=True).sin()
loader = DataLoader(TensorDataset(inputs, targets), batch_size=10, shuffle=True)

model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    running, seen = 0.0, 0
    for step, (x, y) in enumerate(loader, start=1):
        loss = criterion(model(x), y)
        (loss / ACCUMULATE).backward()
        running += loss.item() * len(x)
        seen += len(x)
        if step % ACCUMULATE == 0 or step == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {running / seen:.4f}")
