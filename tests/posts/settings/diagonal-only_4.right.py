# line 18: the transition of the state space model is read as bs,ss, its diagonal, so the states do not mix
import math

import torch
from torch import nn


class LinearDynamics(nn.Module):
    """s' = A s + B u,  y = C s."""

    def __init__(self, states, inputs, outputs):
        super().__init__()
        self.A = nn.Parameter(0.9 * torch.eye(states) + 0.05 * torch.randn(states, states))
        self.B = nn.Parameter(0.3 * torch.randn(states, inputs))
        self.C = nn.Parameter(0.3 * torch.randn(outputs, states))

    def transition(self, s, u):
        drift = torch.einsum("bs,ts->bt", s, self.A)
        return drift + torch.einsum("bi,si->bs", u, self.B)

    def forward(self, drive):
        s = drive.new_zeros(drive.size(0), self.A.size(0))
        outputs = []
        for u in drive.unbind(dim=1):
            s = self.transition(s, u)
            outputs.append(torch.einsum("bs,os->bo", s, self.C))
        return torch.stack(outputs, dim=1)


def oscillator(n, steps=30, omega=0.5, damping=0.95):
    turn = damping * torch.tensor(
        [[math.cos(omega), -math.sin(omega)], [math.sin(omega), math.cos(omega)]]
    )
    drive = torch.randn(n, steps, 1)
    state, seen = torch.zeros(n, 2), []
    for k in range(steps):
        state = state @ turn.t() + torch.cat([drive[:, k], torch.zeros(n, 1)], dim=1)
        seen.append(state[:, 1:])
    return drive, torch.stack(seen, dim=1)


torch.manual_seed(4)
system = LinearDynamics(states=4, inputs=1, outputs=1)
optimizer = torch.optim.Adam(system.parameters(), lr=0.01)
drive, response = oscillator(300)
for epoch in range(15):
    system.train()
    total = 0.0
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(system(drive[rows]), response[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(system.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(rows)
    if epoch % 5 == 0:
        print(epoch, total / 300)
system.eval()
with torch.no_grad():
    drive, response = oscillator(100)
    print("test", nn.functional.mse_loss(system(drive), response).item())
