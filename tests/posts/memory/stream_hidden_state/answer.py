import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SENSORS = 128


class Windows(Dataset):
    def __init__(self, n=400, machines=256, length=50):
        self.n = n
        self.machines = machines
        self.length = length

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.rand(self.length, self.machines, SENSORS)


class Monitor(nn.Module):
    def __init__(self, hidden_size=512):
        super().__init__()
        self.hidden_size = hidden_size
        self.rnn = nn.LSTM(SENSORS, hidden_size, num_layers=2)
        self.out = nn.Linear(hidden_size, SENSORS)

    def init_hidden(self, batch):
        shape = (2, batch, self.hidden_size)
        return torch.zeros(shape, device=device), torch.zeros(shape, device=device)

    def forward(self, data, hidden):
        out, hidden = self.rnn(data, hidden)
        return self.out(out), hidden


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
windows = Windows()
loader = DataLoader(windows, batch_size=None)
model = Monitor().to(device)
model.eval()

hidden = model.init_hidden(windows.machines)
errors = []
for i, data in enumerate(loader):
    data = data.to(device)
    forecast, hidden = model(data, hidden)
    hidden = tuple(h.detach() for h in hidden)
    error = (forecast[:-1] - data[1:]).pow(2).mean()
    errors.append(error.item())
    if (i + 1) % 100 == 0:
        print("window", i + 1, "error", sum(errors[-100:]) / 100)
threshold = sorted(errors)[int(0.99 * len(errors))]
print("threshold of alarm", threshold)
