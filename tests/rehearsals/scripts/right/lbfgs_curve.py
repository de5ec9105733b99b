import numpy as np
import torch
import torch.nn as nn


class CurveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 12)
        self.lstm2 = nn.LSTMCell(12, 12)
        self.linear = nn.Linear(12, 1)

    def forward(self, inputs, future=0):
        outputs = []
        h = torch.zeros(inputs.size(0), 12, dtype=torch.double)
        c, h2, c2 = torch.zeros_like(h), torch.zeros_like(h), torch.zeros_like(h)
        for step in inputs.split(1, dim=1):
            h, c = self.lstm1(step, (h, c))
            h2, c2 = self.lstm2(h, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        for _ in range(future):
            h, c = self.lstm1(output, (h, c))
            h2, c2 = self.lstm2(h, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        return torch.cat(outputs, dim=1)


np.random.seed(0)
torch.manual_seed(0)
steps = np.arange(30)[None] + np.random.randint(-20, 20, (10, 1))
data = torch.from_numpy(np.sin(steps / 5.0).astype("float64"))
inputs, target = data[2:, :-1], data[2:, 1:]
test_inputs, test_target = data[:2, :-1], data[:2, 1:]

seq = CurveNet().double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.5, max_iter=5)

for i in range(3):
    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(inputs), target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_inputs, future=10)
        test_loss = criterion(pred[:, :-10], test_target)
    print(f"step {i}: {float(loss):.5f} test {test_loss.item():.5f}, {pred.numpy().shape}")
