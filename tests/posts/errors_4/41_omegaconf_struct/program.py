import torch
import torch.nn as nn
from omegaconf import OmegaConf

cfg = OmegaConf.create("""
seed: 3
model:
  in_dim: 14
  hidden: [64, 32]
  dropout: 0.2
optim:
  name: adamw
  learning_rate: 0.003
  weight_decay: 0.01
train:
  epochs: 4
  batch_size: 32
""")
OmegaConf.set_struct(cfg, True)


def build_model(c):
    dims = [c.in_dim, *c.hidden]
    layers = []
    for a, b in zip(dims, dims[1:]):
        layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(c.dropout)]
    return nn.Sequential(*layers, nn.Linear(dims[-1], 1))


def build_optimizer(c, params):
    kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    return kinds[c.name](params, lr=c.lr, weight_decay=c.weight_decay)


torch.manual_seed(cfg.seed)
model = build_model(cfg.model)
opt = build_optimizer(cfg.optim, model.parameters())
x = torch.randn(256, cfg.model.in_dim)
y = x[:, :2].prod(dim=1, keepdim=True)
for epoch in range(cfg.train.epochs):
    for idx in torch.randperm(256).split(cfg.train.batch_size):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
