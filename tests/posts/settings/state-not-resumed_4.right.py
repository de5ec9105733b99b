# line 33: the averaged weights are in the checkpoint, but after the restart the average begins anew from the current weights
import io

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


def make():
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.98))
    return net, ema, torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)


def flights(n, gen):
    x = torch.randn(n, 6, generator=gen)
    delay = x[:, :1] * 2 + torch.relu(x[:, 1:2]) + 0.5 * torch.randn(n, 1, generator=gen)
    return x, delay


def pack(epoch, net, ema, opt):
    file = io.BytesIO()
    torch.save(
        {"epoch": epoch, "net": net.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict()}, file
    )
    return file.getvalue()


def unpack(blob, net, ema, opt):
    saved = torch.load(io.BytesIO(blob))
    net.load_state_dict(saved["net"])
    opt.load_state_dict(saved["opt"])
    ema.load_state_dict(saved["ema"])
    return saved["epoch"] + 1


def session(blob, epochs, train, size=20):
    net, ema, opt = make()
    first = unpack(blob, net, ema, opt) if blob else 0
    x, delay = train
    for epoch in range(first, first + epochs):
        net.train()
        for rows in torch.randperm(len(x)).split(size):
            opt.zero_grad()
            nn.functional.mse_loss(net(x[rows]), delay[rows]).backward()
            opt.step()
            ema.update_parameters(net)
        blob = pack(epoch, net, ema, opt)
    return blob, ema


torch.manual_seed(0)
gen = torch.Generator().manual_seed(5)
train, test = flights(400, gen), flights(200, gen)
blob = None
for part in range(3):
    blob, ema = session(blob, 3, train)
    ema.eval()
    with torch.no_grad():
        print("session", part, "mse", nn.functional.mse_loss(ema(test[0]), test[1]).item())
