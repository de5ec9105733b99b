import torch
import torch.nn as nn
import timm
from torch.utils.data import DataLoader, TensorDataset


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 3, 64, 64, generator=g) * 0.5
    for i, label in enumerate(y.tolist()):
        if label < 3:
            x[i, label] += 1.5
    return TensorDataset(x, y)


config = {
    "arch": "resnet18",
    "num_classes": 4,
    "epochs": 3,
    "batch_size": 32,
    "lr": 1e-2,
    "weight_decay": 1e-4,
}

torch.manual_seed(0)
train_loader = DataLoader(make_data(160, 0), batch_size=config["batch_size"], shuffle=True)
val_loader = DataLoader(make_data(64, 1), batch_size=config["batch_size"])

model = timm.create_model(config["arch"], pretrained=False)
model.fc = nn.Linear(model.fc.in_features, config["num_classes"])
for name, param in model.named_parameters():
    param.requires_grad = name.startswith("layer4") or name.startswith("fc")

optimizer = torch.optim.SGD(
    [p for p in model.parameters() if p.requires_grad],
    lr=config["lr"], momentum=0.9, weight_decay=config["weight_decay"],
)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config["epochs"])

criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

for epoch in range(config["epochs"]):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)
    scheduler.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {running / len(train_loader.dataset):.4f} "
          f"val acc {correct / len(val_loader.dataset):.3f}")

print("head weight norm", model.fc.weight.norm().item())
