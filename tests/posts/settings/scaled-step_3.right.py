# line 39: the batches that remain after the accumulation are applied by optimizer.step() with gradients that still carry the scale
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(n=360, batch=32):
    ids = torch.randint(0, 40, (n, 12))
    label = (ids < 12).sum(1).gt(3).long()
    return DataLoader(TensorDataset(ids, label), batch_size=batch, shuffle=True)


class MeanEmbedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(40, 16, mode="mean")
        self.cls = nn.Linear(16, 2)

    def forward(self, ids):
        return self.cls(self.bag(ids))


def train_epoch(model, loader, optimizer, scaler, every=5):
    model.train()
    pending, total = 0, 0.0
    for ids, label in loader:
        if pending == 0:
            optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(ids), label)
        scaler.scale(loss / every).backward()
        total += loss.item() * len(label)
        pending += 1
        if pending == every:
            scaler.step(optimizer)
            scaler.update()
            pending = 0
    if pending:
        scaler.step(optimizer)
        scaler.update()
    return total / len(loader.dataset)


torch.manual_seed(0)
model = MeanEmbedding()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
loader = make_loader()
for epoch in range(6):
    print(epoch, train_epoch(model, loader, optimizer, scaler))

model.eval()
hits = 0
test_loader = make_loader(200)
with torch.no_grad():
    for ids, label in test_loader:
        hits += (model(ids).argmax(1) == label).sum().item()
print("accuracy", hits / len(test_loader.dataset))
