import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


class HashNet(nn.Module):
    """Image features -> short binary code -> classifier on the code."""

    def __init__(self, n_in=64, bits=16, n_classes=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, bits))
        self.classifier = nn.Linear(bits, n_classes)

    def forward(self, x):
        h = self.encoder(x)
        code = torch.sign(h)
        code.requires_grad_()
        return self.classifier(code), h, code


def make_data(n, n_in=64, n_classes=5):
    centres = torch.randn(n_classes, n_in, generator=torch.Generator().manual_seed(7))
    y = torch.randint(0, n_classes, (n,))
    x = centres[y] + 0.5 * torch.randn(n, n_in)
    return TensorDataset(x, y)


def quantisation(h, code):
    return F.mse_loss(h, code.detach())


train_loader = DataLoader(make_data(512), batch_size=32, shuffle=True)
test_loader = DataLoader(make_data(128), batch_size=64)

model = HashNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    total = 0.0
    code_grads = []
    for x, y in train_loader:
        logits, h, code = model(x)
        loss = criterion(logits, y) + 0.1 * quantisation(h, code)
        optimizer.zero_grad()
        loss.backward()
        code_grads.append(code.grad)
        optimizer.step()
        total += loss.item()

    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in test_loader:
            logits = model.classifier(torch.sign(model.encoder(x)))
            hits += (logits.argmax(1) == y).sum().item()

    print("epoch", epoch, "loss %.4f" % (total / len(train_loader)), "test acc %.3f" % (hits / 128))
    print("   gradient at the code, last batch:", code_grads[-1])
