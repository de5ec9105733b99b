from typing import NamedTuple

import torch
import torch.nn as nn

torch.manual_seed(0)


class LIFState(NamedTuple):
    z: torch.Tensor
    v: torch.Tensor
    i: torch.Tensor


class LIFCell(nn.Module):
    def __init__(self, input_size, hidden_size, tau_mem=0.9, tau_syn=0.8):
        super().__init__()
        self.input_weights = nn.Parameter(torch.randn(hidden_size, input_size) * 0.2)
        self.recurrent_weights = nn.Parameter(torch.randn(hidden_size, hidden_size) * 0.1)
        self.tau_mem, self.tau_syn = tau_mem, tau_syn
        self.hidden_size = hidden_size

    def initial_state(self, batch):
        return LIFState(*(torch.zeros(batch, self.hidden_size) for _ in range(3)))

    def forward(self, x, state=None):
        if state is None:
            state = self.initial_state(x.shape[0])
        i = state.i + x @ self.input_weights.t() + state.z @ self.recurrent_weights.t()
        v = self.tau_mem * state.v + (1 - self.tau_mem) * i
        z = torch.sigmoid(10 * (v - 0.1))
        return z, LIFState(z, v * (1 - z), self.tau_syn * i)


class SpikingNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = LIFCell(12, 32)
        self.readout = nn.Linear(32, 4)

    def forward(self, spikes, state=None):
        rates = 0
        for step in range(spikes.shape[0]):
            z, state = self.cell(spikes[step], state)
            rates = rates + z
        return self.readout(rates / spikes.shape[0]), state


batches = [((torch.rand(20, 16, 12) > 0.7).float(), torch.randint(0, 4, (16,))) for _ in range(8)]
model = SpikingNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    state = None
    running = 0.0
    for spikes, labels in batches:
        optimizer.zero_grad()
        out, state = model(spikes, state)
        loss = criterion(out, labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print("epoch", epoch, "loss", running / len(batches))
