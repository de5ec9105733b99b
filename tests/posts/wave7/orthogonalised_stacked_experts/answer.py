import torch
import torch.nn as nn
import torch.nn.functional as F


def zeropower_via_newtonschulz5(G, steps=5, eps=1e-7):
    """batched Muon orthogonalisation"""
    assert G.ndim >= 2
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G
    transposed = G.size(-2) > G.size(-1)
    if transposed:
        X = X.mT
    X = X / X.norm(dim=(-2, -1), keepdim=True).clamp(min=eps)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    if transposed:
        X = X.mT
    return X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                state = self.state[p]
                if 'momentum_buffer' not in state:
                    state['momentum_buffer'] = torch.zeros_like(p)
                buf = state['momentum_buffer']
                buf.lerp_(p.grad, 1 - group['momentum'])
                g = p.grad.lerp(buf, group['momentum']) if group['nesterov'] else buf
                update = zeropower_via_newtonschulz5(g)
                update *= max(1, p.size(-2) / p.size(-1)) ** 0.5
                p.add_(update, alpha=-group['lr'])


class MoE(nn.Module):
    def __init__(self, dim=48, hidden=96, num_experts=4):
        super().__init__()
        self.router = nn.Linear(dim, num_experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(num_experts, dim, hidden) * dim ** -0.5)
        self.w2 = nn.Parameter(torch.randn(num_experts, hidden, dim) * hidden ** -0.5)

    def forward(self, x):
        gates = self.router(x).softmax(dim=-1)
        h = F.relu(torch.einsum('btd,edh->beth', x, self.w1)).square()
        y = torch.einsum('beth,ehd->betd', h, self.w2)
        return torch.einsum('bte,betd->btd', gates, y)


class TinyLM(nn.Module):
    def __init__(self, vocab=100, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.moe = MoE(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.mix(self.embed(ids))[0]
        return self.head(self.norm(x + self.moe(x)))


torch.manual_seed(0)
model = TinyLM()
hidden = [p for n, p in model.named_parameters() if n.startswith('moe.w')]
others = [p for n, p in model.named_parameters() if not n.startswith('moe.w')]
optimizers = [Muon(hidden, lr=0.02), torch.optim.AdamW(others, lr=3e-3)]

for step in range(5):
    ids = torch.cumsum(torch.randint(1, 3, (16, 24)), dim=1) % 100
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    for opt in optimizers:
        opt.step()
        opt.zero_grad()
    print('step', step, 'loss', loss.item())
