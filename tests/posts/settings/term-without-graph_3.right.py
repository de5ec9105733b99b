# line 19: the sparsity term counts the non-zero codes, and no gradient passes through a count
import torch
from torch import nn


class SparseCoder(nn.Module):
    def __init__(self, inputs=40, atoms=64):
        super().__init__()
        self.encode = nn.Linear(inputs, atoms)
        self.decode = nn.Linear(atoms, inputs, bias=False)

    def forward(self, x):
        code = torch.relu(self.encode(x))
        return self.decode(code), code


def objective(x, recon, code, weight):
    fidelity = (recon - x).square().sum(dim=1).mean()
    density = code.abs().sum(dim=1).mean() / code.shape[1]
    return fidelity + weight * density, density


def activations(n, gen):
    basis = torch.randn(50, 40, generator=gen)
    mask = torch.rand(n, 50, generator=gen) < 0.06
    return (mask * torch.rand(n, 50, generator=gen)) @ basis


def main(config):
    gen = torch.Generator().manual_seed(config["seed"])
    torch.manual_seed(config["seed"])
    data = activations(config["n"], gen)
    sae = SparseCoder()
    opt = torch.optim.Adam(sae.parameters(), lr=config["lr"])
    for epoch in range(config["epochs"]):
        tracked = []
        for x in torch.utils.data.DataLoader(data, config["batch"], shuffle=True, generator=gen):
            recon, code = sae(x)
            loss, density = objective(x, recon, code, config["sparsity"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tracked.append((loss.item(), density.item()))
        mean_loss, mean_density = (sum(c) / len(c) for c in zip(*tracked))
        print(f"{epoch}: loss {mean_loss:.3f} density {mean_density:.3f}")


main({"seed": 1, "n": 640, "batch": 64, "lr": 2e-3, "epochs": 5, "sparsity": 2.0})
