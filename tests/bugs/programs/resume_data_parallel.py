import collections

import torch
import torch.nn as nn


def build(n_in, n_out):
    return nn.Sequential(
        collections.OrderedDict(
            fc1=nn.Linear(n_in, 16),
            act=nn.ReLU(),
            fc2=nn.Linear(16, n_out),
        )
    )


def save(net):
    """What the multi-GPU job wrote."""
    state = {f"module.{name}": w for name, w in net.state_dict().items()}
    return {"epoch": 12, "state_dict": state}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = build(8, 3)
        ckpt = save(build(8, 3))
        state = ckpt["state_dict"]
        self.net.load_state_dict(state)
        self.start_epoch = ckpt["epoch"] + 1

    def forward(self, x):
        return self.net(x)


def example_inputs():
    return (torch.randn(4, 8),)
