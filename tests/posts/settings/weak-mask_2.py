# line 17: the pooling scores of missing frames are set to 0 by torch.where before the softmax
import torch
from torch import nn


class MILPool(nn.Module):
    """Attention over the instances of a bag; bags have different sizes."""

    def __init__(self, d_in, d_att):
        super().__init__()
        self.V = nn.Linear(d_in, d_att)
        self.U = nn.Linear(d_in, d_att)
        self.w = nn.Linear(d_att, 1, bias=False)

    def forward(self, bag, present):
        s = self.w(torch.tanh(self.V(bag)) * torch.sigmoid(self.U(bag))).squeeze(2)
        s = torch.where(present, s, torch.zeros_like(s))
        a = torch.exp(s - torch.logsumexp(s, dim=1, keepdim=True))
        return (a.unsqueeze(2) * bag).sum(1), a


class MILClassifier(nn.Module):
    def __init__(self, d_in=12, d=16):
        super().__init__()
        self.instance = nn.Sequential(nn.Linear(d_in, d), nn.ReLU())
        self.pool = MILPool(d, 8)
        self.top = nn.Linear(d, 1)

    def forward(self, bag, present):
        z, _ = self.pool(self.instance(bag), present)
        return self.top(z).view(-1)


def bags(n, most=15):
    size = torch.randint(2, most + 1, (n,))
    present = torch.arange(most).expand(n, -1) < size[:, None]
    x = torch.randn(n, most, 12)
    y = torch.randint(2, (n,)).float()
    x[:, 0, :3] += 3 * y[:, None]
    return x * present.unsqueeze(2), present, y


torch.manual_seed(0)
net = MILClassifier()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(100):
    x, present, y = bags(32)
    optimizer.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(net(x, present), y).backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    x, present, y = bags(200)
    print("accuracy", ((net(x, present) > 0).float() == y).float().mean().item())
