# line 30: the optimizer is exchanged for AdamW after the schedule was made, which goes on with the first one
import math

import numpy as np
import torch
import torch.nn as nn

# --- cell 1: data
rng = np.random.default_rng(0)
speed = rng.uniform(3, 25, 500)
angle = rng.uniform(-1, 1, 500)
power = np.clip((speed / 12) ** 3, 0, 1) * np.cos(angle) ** 2 + 0.03 * rng.normal(size=500)
inputs = torch.tensor(np.stack([speed / 10, angle], 1), dtype=torch.float32)
target = torch.tensor(power, dtype=torch.float32)
x_train, x_test, y_train, y_test = inputs[:400], inputs[400:], target[:400], target[400:]

# --- cell 2: model
torch.manual_seed(0)
turbine = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))

# --- cell 3: optimizer and schedule
EPOCHS, BATCH = 12, 40
total_steps = EPOCHS * math.ceil(len(x_train) / BATCH)
optimizer = torch.optim.SGD(turbine.parameters(), lr=0.02, momentum=0.9)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total_steps)

# --- cell 4: AdamW was better than SGD in the last experiment
decay = [p for p in turbine.parameters() if p.ndim > 1]
no_decay = [p for p in turbine.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": no_decay, "weight_decay": 0.0}], lr=5e-3
)

# --- cell 5: training
for epoch in range(EPOCHS):
    turbine.train()
    summed = 0.0
    for rows in torch.randperm(len(x_train)).split(BATCH):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(turbine(x_train[rows]).squeeze(1), y_train[rows])
        loss.backward()
        optimizer.step()
        schedule.step()
        summed += loss.item() * len(rows)
    print(epoch, "mse", summed / len(x_train), "lr", optimizer.param_groups[0]["lr"])

# --- cell 6: test
turbine.eval()
with torch.no_grad():
    print("test", nn.functional.mse_loss(turbine(x_test).squeeze(1), y_test).item())
