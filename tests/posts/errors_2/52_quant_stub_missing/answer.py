import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.ao.quantization import DeQuantStub, QuantStub, convert, get_default_qconfig, prepare

warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.backends.quantized.engine = torch.backends.quantized.supported_engines[-1]

X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32) / 16
y = torch.tensor(y)


class DigitMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.fc1(self.quant(x)))
        return self.dequant(self.fc2(x))


def accuracy(net):
    with torch.no_grad():
        return (net(X[1400:]).argmax(1) == y[1400:]).float().mean().item()


model = DigitMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for idx in torch.randperm(1400).split(100):
        optimizer.zero_grad()
        F.cross_entropy(model(X[idx]), y[idx]).backward()
        optimizer.step()

model.eval()
print(f"float accuracy {accuracy(model):.3f}")

model.qconfig = get_default_qconfig(torch.backends.quantized.engine)
prepared = prepare(model)
with torch.no_grad():
    for batch in X[:512].split(64):
        prepared(batch)
quantized = convert(prepared)
print(f"int8 accuracy {accuracy(quantized):.3f}")
