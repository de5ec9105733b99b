import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SLSTMBlock(nn.Module):
    def __init__(self, x_example, hidden):
        super().__init__()
        batch, features = x_example.shape
        self.norm = nn.LayerNorm(features)
        self.gates = nn.Linear(features, 4 * hidden)
        self.recurrent = nn.Linear(hidden, 4 * hidden, bias=False)
        self.out_norm = nn.LayerNorm(hidden)
        self.down = nn.Linear(hidden, features)

        self.register_buffer("ct_1", torch.zeros(batch, hidden, device=x_example.device))
        self.register_buffer("nt_1", torch.ones(batch, hidden, device=x_example.device))
        self.register_buffer("ht_1", torch.zeros(batch, hidden, device=x_example.device))
        self.register_buffer("mt_1", torch.zeros(batch, hidden, device=x_example.device))

    def init_states(self):
        self.ct_1 = torch.zeros_like(self.ct_1)
        self.nt_1 = torch.ones_like(self.nt_1)
        self.ht_1 = torch.zeros_like(self.ht_1)
        self.mt_1 = torch.zeros_like(self.mt_1)

    def forward(self, x):
        gates = self.gates(self.norm(x)) + self.recurrent(self.ht_1)
        i, f, z, o = gates.chunk(4, dim=-1)
        log_f = F.logsigmoid(f)
        mt = torch.maximum(log_f + self.mt_1, i)
        i = torch.exp(i - mt)
        f = torch.exp(log_f + self.mt_1 - mt)
        ct = f * self.ct_1 + i * torch.tanh(z)
        nt = f * self.nt_1 + i
        ht = torch.sigmoid(o) * ct / nt
        self.ct_1, self.nt_1, self.ht_1, self.mt_1 = ct, nt, ht, mt
        return x + self.down(self.out_norm(ht))


class XLSTM(nn.Module):
    def __init__(self, x_example, hidden=24, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList([SLSTMBlock(x_example, hidden) for _ in range(depth)])
        self.head = nn.Linear(x_example.shape[1], 1)

    def forward(self, sequence):
        for block in self.blocks:
            block.init_states()
        for t in range(sequence.size(1)):
            x = sequence[:, t]
            for block in self.blocks:
                x = block(x)
        return self.head(x).squeeze(1)


def make_series(count, length, features):
    series = torch.randn(count, length, features)
    target = series[:, :, 0].cumsum(dim=1)[:, -1] / length ** 0.5
    return TensorDataset(series, target)


def main(batch_size=16, length=10, features=6):
    torch.manual_seed(0)
    loader = DataLoader(make_series(160, length, features), batch_size=batch_size,
                        shuffle=True, drop_last=True)
    x_example = torch.zeros(batch_size, features)
    model = XLSTM(x_example).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total = 0.0
        for series, target in loader:
            series, target = series.to(device), target.to(device)
            loss = F.mse_loss(model(series), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
