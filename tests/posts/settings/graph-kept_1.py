# line 14: the logger's exponential moving average keeps tensors with their graphs
import torch
import torch.nn as nn


class Smoothed:
    def __init__(self, decay=0.95):
        self.decay, self.value = decay, None

    def push(self, v):
        if self.value is None:
            self.value = v
        else:
            self.value = self.decay * self.value + (1 - self.decay) * v

    def show(self):
        return round(float(self.value), 4)


class TempConv(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.a = nn.Conv1d(1, ch, 3, padding=2, dilation=2)
        self.b = nn.Conv1d(ch, 1, 3, padding=4, dilation=4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
net = TempConv()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
meter = Smoothed()
clean = torch.sin(torch.linspace(0, 20, 100)).repeat(128, 1).unsqueeze(1)
for epoch in range(3):
    for rows in torch.randperm(128).split(16):
        x = clean[rows] + 0.3 * torch.randn(len(rows), 1, 100)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), clean[rows])
        loss.backward()
        opt.step()
        meter.push(loss)
    print(epoch, meter.show())
