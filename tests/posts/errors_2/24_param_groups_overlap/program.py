import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet18

torch.manual_seed(0)

model = resnet18(weights=None)
model.fc = nn.Linear(model.fc.in_features, 6)

HEAD_LR = 1e-2
BACKBONE_LR = 1e-3

head_params = list(model.fc.parameters())
backbone_params = list(model.parameters())

optimizer = torch.optim.SGD(
    [
        {"params": backbone_params, "lr": BACKBONE_LR},
        {"params": head_params, "lr": HEAD_LR},
    ],
    momentum=0.9,
    weight_decay=1e-4,
)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

images = torch.rand(32, 3, 64, 64)
labels = torch.randint(0, 6, (32,))

for epoch in range(2):
    model.train()
    total = 0.0
    for xb, yb in zip(images.split(16), labels.split(16)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    lrs = [group["lr"] for group in optimizer.param_groups]
    print(f"epoch {epoch} loss {total / 2:.3f} lrs {lrs}")
