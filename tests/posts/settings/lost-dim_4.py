# line 15: squeeze(-1) removes the axis of the months for a plan of one month, so the sum over months runs over the customers
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpendingModel(nn.Module):
    def __init__(self, history=12, months=3):
        super().__init__()
        self.gru = nn.GRU(1, 20, batch_first=True)
        self.months = nn.Linear(20, months)

    def forward(self, history):
        _, state = self.gru(history.unsqueeze(-1))
        return nn.functional.softplus(self.months(state[0])).squeeze(-1)


def total_error(monthly, total):
    return torch.abs(monthly.sum(dim=-1) - total).mean()


def customers(n, months):
    level = torch.rand(n, 1) * 2
    season = 0.3 * torch.sin(torch.arange(12 + months) / 2.0)
    spent = torch.relu(level + season + 0.1 * torch.randn(n, 12 + months))
    return TensorDataset(spent[:, :12], spent[:, 12:].sum(1))


def run(months, epochs=4):
    torch.manual_seed(47)
    data = customers(360, months)
    model = SpendingModel(months=months)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        running = 0.0
        for history, total in DataLoader(data, batch_size=30, shuffle=True):
            loss = total_error(model(history), total)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * len(total)
    return running / len(data)


for months in (1, 3, 6):
    print(f"plan of {months} months: mean error of the total {run(months):.3f}")
