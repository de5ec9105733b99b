# line 18: the running state dict keeps (1 - beta) of itself and takes beta of the new key encoder weights
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
BETA, TAU, QUEUE = 0.99, 0.1, 128


def encoder():
    return nn.Sequential(nn.Conv1d(2, 16, 5, 2), nn.ReLU(), nn.Conv1d(16, 16, 5, 2), nn.Flatten(), nn.Linear(144, 16))


def momentum_update(slow, fast, beta):
    new = fast.state_dict()
    blended = {}
    for name, old in slow.state_dict().items():
        blended[name] = beta * new[name] + (1.0 - beta) * old
    slow.load_state_dict(blended)


def view(ecg):
    gain = 1 + 0.2 * torch.randn(len(ecg), 1, 1)
    return gain * ecg + 0.1 * torch.randn_like(ecg)


ecg = torch.sin(torch.rand(256, 2, 1) * torch.arange(48) * 0.5 + torch.rand(256, 1, 1))
query_net, key_net = encoder(), encoder()
key_net.load_state_dict(query_net.state_dict())
key_net.requires_grad_(False)
queue = F.normalize(torch.randn(QUEUE, 16), dim=1)
opt = torch.optim.SGD(query_net.parameters(), lr=0.03, momentum=0.9)
for epoch in range(3):
    for rows in torch.randperm(256).split(32):
        batch = ecg[rows]
        q = F.normalize(query_net(view(batch)), dim=1)
        with torch.no_grad():
            k = F.normalize(key_net(view(batch)), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        logits = torch.cat([positive, q @ queue.T], dim=1) / TAU
        loss = F.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        opt.step()
        momentum_update(key_net, query_net, BETA)
        queue = torch.cat([k, queue])[:QUEUE]
    print(epoch, loss.item())
