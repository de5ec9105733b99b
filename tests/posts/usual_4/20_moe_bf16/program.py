import time

import torch
from torch import nn, Tensor
import torch.nn.functional as F

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, d_in: int, d_hidden: int, d_out: int):
        super().__init__()
        self.up = nn.Linear(d_in, d_hidden)
        self.down = nn.Linear(d_hidden, d_out)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class MixtureOfExperts(nn.Module):
    """top-1 routed mixture with a load-balancing term"""

    def __init__(self, d_model: int, d_hidden: int, n_experts: int):
        super().__init__()
        self.gate = nn.Linear(d_model, n_experts)
        self.experts = nn.ModuleList(Expert(d_model, d_hidden, d_model) for _ in range(n_experts))
        self.n_experts = n_experts

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        probs = F.softmax(self.gate(x), dim=-1)
        weight, choice = probs.max(dim=-1)
        out = torch.zeros(x.shape, device=x.device)
        for e, expert in enumerate(self.experts):
            rows = (choice == e).nonzero(as_tuple=True)[0]
            if rows.numel() > 0:
                out[rows] = expert(x[rows])
        load = F.one_hot(choice, self.n_experts).float().mean(0)
        balance = self.n_experts * (load * probs.mean(0)).sum()
        return out * weight.unsqueeze(-1), balance


class TabularMoE(nn.Module):
    def __init__(self, n_features: int, d_model: int = 64, n_experts: int = 4, n_blocks: int = 2):
        super().__init__()
        self.inp = nn.Linear(n_features, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(n_blocks))
        self.moes = nn.ModuleList(MixtureOfExperts(d_model, 128, n_experts) for _ in range(n_blocks))
        self.out = nn.Linear(d_model, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.inp(x)
        aux = h.new_zeros(())
        for norm, moe in zip(self.norms, self.moes):
            y, balance = moe(norm(h))
            h = h + y
            aux = aux + balance
        return self.out(h).squeeze(-1), aux


def make_data(n: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(n, 12)
    regime = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    coef = torch.randn(4, 12, generator=torch.Generator().manual_seed(99))
    return x, (coef[regime] * x).sum(1) + 0.1 * torch.randn(n)


x_train, y_train = make_data(4096)
x_val, y_val = make_data(1024)
model = TabularMoE(12)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

start = time.perf_counter()
for epoch in range(5):
    model.train()
    perm = torch.randperm(len(x_train))
    total = 0.0
    for idx in perm.split(256):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            pred, aux = model(x_train[idx])
            loss = F.mse_loss(pred.float(), y_train[idx]) + 0.01 * aux.float()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)

    model.eval()
    with torch.no_grad(), torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        pred, _ = model(x_val)
    mse = F.mse_loss(pred.float(), y_val)
    print(f"epoch {epoch}: train {total / len(x_train):.3f} val mse {mse:.3f} ({time.perf_counter() - start:.1f}s)")
