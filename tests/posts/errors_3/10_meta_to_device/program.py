import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class Stack(nn.Module):
    def __init__(self, dim=64, depth=4):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 8)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.out(x)


def checkpoint():
    torch.manual_seed(0)
    return Stack().state_dict()


device = torch.device("cpu")
weights = checkpoint()

with torch.device("meta"):
    model = Stack()

n_params = sum(p.numel() for p in model.parameters())
print(f"{n_params / 1e3:.1f}k parameters")

model = model.to(device)
model.load_state_dict(weights)

model.eval()
with torch.no_grad():
    logits = model(torch.randn(2, 10, 64, device=device))
print(logits.shape, logits.mean().item())
