import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(0)
CKPT = os.path.join(tempfile.mkdtemp(), "best.pth")


class GlucoseNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])


def train(x, y, epochs=15):
    model = GlucoseNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    best = float("inf")
    for _ in range(epochs):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < best:
            best = loss.item()
            torch.save(model.state_dict(), CKPT)
    return best


def predict(x):
    model = GlucoseNet()
    model.load_state_dict(torch.load(CKPT))
    model.eval()
    with torch.no_grad():
        return model(x)


curve = torch.sin(torch.linspace(0, 30, 400))
win = curve.unfold(0, 13, 1)
x, y = win[:, :12].unsqueeze(-1), win[:, 12:]
print("best", train(x, y))
print(predict(x[:5]).squeeze(1))
