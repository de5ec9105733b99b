# line 27: the scheduler's state is in the checkpoint, and the resumed job never loads it: the schedule starts anew at epoch 0
import io
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR

EPOCHS = 10


def build():
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    return net, opt, CosineAnnealingLR(opt, T_max=EPOCHS)


def dump(epoch, net, opt, sched):
    buffer = io.BytesIO()
    torch.save(dict(epoch=epoch, weights=net.state_dict(), optim=opt.state_dict(),
                    sched=sched.state_dict()), buffer)
    return buffer.getvalue()


def load(blob, net, opt, sched):
    ckpt = torch.load(io.BytesIO(blob))
    net.load_state_dict(ckpt["weights"])
    opt.load_state_dict(ckpt["optim"])
    return ckpt["epoch"] + 1


def job(data, blob=None, stop_after=None):
    net, opt, sched = build()
    first = load(blob, net, opt, sched) if blob else 0
    x, y = data
    for epoch in range(first, EPOCHS):
        for rows in torch.randperm(len(x)).split(25):
            loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, sched.get_last_lr(), loss.item())
        sched.step()
        blob = dump(epoch, net, opt, sched)
        if epoch == stop_after:
            break
    return blob


torch.manual_seed(0)
x = torch.randn(200, 4)
data = (x, x[:, :3].argmax(1))
state = job(data, stop_after=5)
job(data, blob=state)
