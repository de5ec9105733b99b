import math
import torch
import torch.nn as nn


class mLSTM(nn.Module):
    """LSTM with a matrix memory; the vectors are columns"""

    def __init__(self, input_size, mem_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.Wq = nn.Parameter(torch.randn(mem_dim, input_size) / math.sqrt(input_size))
        self.Wk = nn.Parameter(torch.randn(mem_dim, input_size) / math.sqrt(input_size))
        self.Wv = nn.Parameter(torch.randn(mem_dim, input_size) / math.sqrt(input_size))
        self.wi = nn.Parameter(torch.randn(1, input_size) * 0.1)
        self.wf = nn.Parameter(torch.randn(1, input_size) * 0.1)
        self.Wo = nn.Parameter(torch.randn(mem_dim, input_size) * 0.1)
        self.bq = nn.Parameter(torch.zeros(mem_dim, 1))
        self.bk = nn.Parameter(torch.zeros(mem_dim, 1))
        self.bv = nn.Parameter(torch.zeros(mem_dim, 1))
        self.bi = nn.Parameter(torch.zeros(1, 1))
        self.bf = nn.Parameter(torch.ones(1, 1))
        self.bo = nn.Parameter(torch.zeros(mem_dim, 1))

    def init_hidden(self):
        return torch.zeros(self.mem_dim, self.mem_dim), torch.zeros(self.mem_dim, 1)

    def forward(self, x, state):
        C, n = state
        q = self.Wq @ x + self.bq
        k = (self.Wk @ x + self.bk) / math.sqrt(self.mem_dim)
        v = self.Wv @ x + self.bv
        i = torch.exp(torch.clamp(self.wi @ x + self.bi, max=5))
        f = torch.sigmoid(self.wf @ x + self.bf)
        C = f * C + i * (v @ k.t())
        n = f * n + i * k
        h = (C @ q) / torch.clamp((n.t() @ q).abs(), min=1.0)
        return torch.sigmoid(self.Wo @ x + self.bo) * h, (C, n)


def wave(length, phase):
    t = torch.arange(length + 1, dtype=torch.float32) * 0.4 + phase
    return torch.sin(t)


torch.manual_seed(2)
input_size, mem_dim, seq_len = 1, 10, 25
model = mLSTM(input_size, mem_dim)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(60):
    series = wave(seq_len, phase=float(torch.rand(1)) * 6.28)
    state = model.init_hidden()
    optimizer.zero_grad()
    loss = 0.0
    for t in range(seq_len):
        x = series[t].view(input_size, 1)
        y_true = series[t + 1].view(1, 1)
        y_pred, state = model(x, state)
        loss += criterion(y_pred, y_true)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if epoch % 15 == 14:
        print('epoch %d loss %.4f' % (epoch + 1, loss.item() / seq_len))

with torch.no_grad():
    series = wave(seq_len, phase=0.3)
    state = model.init_hidden()
    errors = []
    for t in range(seq_len):
        y_pred, state = model(series[t].view(input_size, 1), state)
        errors.append((y_pred[0, 0] - series[t + 1]) ** 2)
print('test error of the first output %.4f, spread of the outputs %.4f'
      % (torch.stack(errors[5:]).mean().item(), y_pred.std().item()))
