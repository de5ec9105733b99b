# line 23: the state behind the last padded step of the GRUCell loop is taken for every patient
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(1)
torch.manual_seed(1)


class VisitEncoder(nn.Module):
    def __init__(self, measures=5, hidden=16):
        super().__init__()
        self.cell = nn.GRUCell(measures, hidden)
        self.decay = nn.Parameter(torch.zeros(hidden))
        self.risk = nn.Linear(hidden, 1)

    def forward(self, visits):
        state = visits.new_zeros(visits.size(0), self.cell.hidden_size)
        trace = []
        for t in range(visits.size(1)):
            state = self.cell(visits[:, t], state * torch.sigmoid(self.decay + 2))
            trace.append(state)
        return self.risk(trace[-1]).squeeze(-1)


def patient():
    n = int(rng.integers(2, 12))
    values = rng.normal(size=(n, 5)).astype(np.float32)
    return torch.from_numpy(values), float(values[-1, 0] > 0)


cohort = [patient() for _ in range(150)]
encoder = VisitEncoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
for epoch in range(4):
    order = rng.permutation(len(cohort))
    total = 0.0
    for chunk in np.array_split(order, 6):
        visits = nn.utils.rnn.pad_sequence([cohort[i][0] for i in chunk], batch_first=True)
        outcome = torch.tensor([cohort[i][1] for i in chunk])
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(encoder(visits), outcome)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(chunk)
    print(f"{epoch}: {total / len(cohort):.4f}")
