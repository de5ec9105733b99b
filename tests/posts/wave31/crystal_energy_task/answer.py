from typing import Dict

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ToyCrystals(Dataset):
    """Padded structures with per-structure targets, like the devsets we ship."""

    def __init__(self, num=240, max_atoms=12, seed=11):
        g = torch.Generator().manual_seed(seed)
        self.natoms = torch.randint(4, max_atoms + 1, (num,), generator=g)
        self.numbers = torch.randint(1, 30, (num, max_atoms), generator=g)
        self.coords = torch.rand(num, max_atoms, 3, generator=g) * 4.0
        keep = torch.arange(max_atoms)[None] < self.natoms[:, None]
        self.numbers[~keep] = 0
        per_atom = torch.randn(30, generator=g)
        per_atom[0] = 0.0
        self.energy = per_atom[self.numbers].sum(dim=1) / self.natoms
        self.gap = torch.sigmoid(per_atom[self.numbers].std(dim=1)) * 3.0

    def __len__(self):
        return len(self.natoms)

    def __getitem__(self, i):
        return {
            "atomic_numbers": self.numbers[i],
            "pos": self.coords[i],
            "targets": {"energy": self.energy[i : i + 1], "band_gap": self.gap[i : i + 1]},
        }


class SmallSchNet(nn.Module):
    def __init__(self, dim=48, cutoff=3.0, num_rbf=16):
        super().__init__()
        self.embed = nn.Embedding(30, dim, padding_idx=0)
        self.register_buffer("centers", torch.linspace(0.0, cutoff, num_rbf))
        self.filters = nn.ModuleList([nn.Linear(num_rbf, dim) for _ in range(2)])
        self.updates = nn.ModuleList([nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim)) for _ in range(2)])
        self.dim = dim

    def forward(self, numbers, pos):
        mask = (numbers > 0).float()
        h = self.embed(numbers)
        rbf = torch.exp(-4.0 * (torch.cdist(pos, pos)[..., None] - self.centers) ** 2)
        for filt, update in zip(self.filters, self.updates):
            w = filt(rbf) * mask[:, None, :, None]
            h = h + update((w * h[:, None]).sum(dim=2)) * mask[..., None]
        return (h * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


class OutputHead(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, graph_embedding):
        return self.layers(graph_embedding).squeeze(-1)


class ScalarRegressionTask(nn.Module):
    def __init__(self, encoder, task_keys, lr=2e-3):
        super().__init__()
        self.encoder = encoder
        self.task_keys = task_keys
        self.output_heads = nn.ModuleDict({key: OutputHead(encoder.dim) for key in task_keys})
        self.loss_func = nn.MSELoss()
        self.lr = lr

    def forward(self, batch) -> Dict[str, torch.Tensor]:
        embedding = self.encoder(batch["atomic_numbers"], batch["pos"])
        return {key: head(embedding) for key, head in self.output_heads.items()}

    def _compute_losses(self, batch):
        predictions = self(batch)
        targets = batch["targets"]
        losses = {}
        for key in self.task_keys:
            losses[key] = self.loss_func(predictions[key].reshape(targets[key].shape), targets[key])
        return {"loss": sum(losses.values()), "log": losses}

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def fit(task, loader, epochs):
    optimizer = task.configure_optimizers()
    for epoch in range(epochs):
        task.train()
        logs = {key: 0.0 for key in task.task_keys}
        for batch in loader:
            out = task._compute_losses(batch)
            optimizer.zero_grad()
            out["loss"].backward()
            optimizer.step()
            for key, value in out["log"].items():
                logs[key] += value.item() / len(loader)
        print(f"epoch {epoch} " + " ".join(f"train_{k}={v:.4f}" for k, v in logs.items()))


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(ToyCrystals(), batch_size=8, shuffle=True)
    fit(ScalarRegressionTask(SmallSchNet(), ["energy", "band_gap"]), loader, epochs=6)
