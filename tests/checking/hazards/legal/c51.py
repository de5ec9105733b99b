import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(6, 3 * 11)
        self.register_buffer("z", torch.linspace(-1, 1, 11))

    def forward(self, s, a, r):
        p = self.q(s).view(-1, 3, 11).softmax(-1)
        pa = p[torch.arange(9, device=s.device), a]
        tz = (r.unsqueeze(1) + 0.9 * self.z.unsqueeze(0)).clamp(-1, 1)
        b = (tz + 1) / 0.2
        logits = b.floor().long()
        u = b.ceil().long().clamp(max=10)
        m = torch.zeros(9, 11, device=s.device)
        off = (
            torch.linspace(0, 8 * 11, 9, device=s.device)
            .long()
            .unsqueeze(1)
            .expand(9, 11)
        )
        m.view(-1).index_add_(
            0, (logits + off).view(-1), (pa * (u.float() - b)).view(-1)
        )
        return -(m * pa.log()).sum(1).mean(), (p * self.z).sum(2).argmax(1)


def example_inputs():
    return (
        torch.randn(9, 6),
        torch.randint(0, 3, (9,)),
        torch.randn(9),
    )
