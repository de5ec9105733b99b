# line 17: the right tower gets the weights of the left one as a copied vector, so the "shared" towers part at the first step
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def tower(features, out=12):
    return nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, out))


class SiameseMatcher(nn.Module):
    def __init__(self, features, shared_weights=True):
        super().__init__()
        self.left = tower(features)
        self.right = tower(features)
        if shared_weights:
            vector_to_parameters(parameters_to_vector(self.left.parameters()), self.right.parameters())
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, a, b):
        distance = torch.linalg.vector_norm(self.left(a) - self.right(b), dim=1)
        return self.scale * (2.0 - distance)


def signature_pairs(n):
    writer = torch.randn(n, 10)
    same = torch.randint(2, (n,)).float()
    other = torch.where(same[:, None] > 0, writer, torch.randn(n, 10))
    return writer + 0.2 * torch.randn(n, 10), other + 0.2 * torch.randn(n, 10), same


torch.manual_seed(0)
first, second, same = signature_pairs(700)
net = SiameseMatcher(10)
bce = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(first[:600], second[:600], same[:600]), 50, shuffle=True)
for epoch in range(6):
    for a, b, s in loader:
        opt.zero_grad()
        bce(net(a, b), s).backward()
        opt.step()
net.eval()
with torch.no_grad():
    decided = (net(first[600:], second[600:]) > 0).float()
print("verification accuracy", decided.eq(same[600:]).float().mean().item())
