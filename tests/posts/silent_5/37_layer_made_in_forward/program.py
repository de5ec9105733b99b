import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ResidualConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.in_ch, self.out_ch = in_ch, out_ch
        self.conv = nn.Conv1d(in_ch, out_ch, 5, padding=2)
        self.bn = nn.BatchNorm1d(out_ch)
        self.act = nn.ReLU()

    def forward(self, x):
        if self.in_ch != self.out_ch:
            shortcut = nn.Conv1d(self.in_ch, self.out_ch, 1)(x)
        else:
            shortcut = x
        return self.act(self.bn(self.conv(x)) + shortcut)


class HeartbeatNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stage1 = ResidualConv(1, 16)
        self.stage2 = ResidualConv(16, 32)
        self.stage3 = ResidualConv(32, 32)
        self.pool = nn.MaxPool1d(2)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        x = self.pool(self.stage1(x))
        x = self.pool(self.stage2(x))
        return self.head(self.stage3(x).mean(dim=-1))


t = torch.linspace(0, 6.28, 64)
y = torch.randint(0, 3, (900,))
freq = 2.0 + 0.7 * y.view(-1, 1)
x = torch.sin(freq * t + 6.28 * torch.rand(900, 1)) + 0.8 * torch.randn(900, 64)
x = x.unsqueeze(1)
loader = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=32, shuffle=True)
net = HeartbeatNet()
print("parameters:", sum(p.numel() for p in net.parameters()))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(8):
    net.train()
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        acc = (net(x[700:]).argmax(1) == y[700:]).float().mean().item()
    print(f"epoch {epoch}: test accuracy {acc:.3f}")
