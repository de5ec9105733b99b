# line 13: the layers end with a sigmoid although BCEWithLogitsLoss applies one itself
import torch
from torch import nn, optim

config = {"features": 12, "widths": [32, 16], "tags": 5, "lr": 0.01, "epochs": 8, "batch": 40}


def build_tagger(cfg):
    layers, last = [], cfg["features"]
    for width in cfg["widths"]:
        layers += [nn.Linear(last, width), nn.BatchNorm1d(width), nn.ReLU()]
        last = width
    layers += [nn.Linear(last, cfg["tags"])]
    return nn.Sequential(*layers)


def make_songs(n, cfg, seed):
    gen = torch.Generator().manual_seed(seed)
    x = torch.randn(n, cfg["features"], generator=gen)
    mixing = torch.linspace(-1, 1, cfg["features"] * cfg["tags"]).view(cfg["features"], -1)
    return x, (torch.sin(3 * mixing).t() @ x.t() > 0.5).t().float()


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.net = build_tagger(cfg)
        self.objective = nn.BCEWithLogitsLoss()
        self.optimizer = optim.Adam(self.net.parameters(), lr=cfg["lr"])

    def fit(self, x, y):
        self.net.train()
        for _ in range(self.cfg["epochs"]):
            total = 0.0
            for idx in torch.randperm(len(x)).split(self.cfg["batch"]):
                self.optimizer.zero_grad()
                loss = self.objective(self.net(x[idx]), y[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
        return total / len(x)

    @torch.no_grad()
    def rank(self, x, k=2):
        self.net.eval()
        return self.net(x).topk(k, dim=1).indices


torch.manual_seed(1)
runner = Runner(config)
print("bce", runner.fit(*make_songs(400, config, 1)))
x_new, y_new = make_songs(80, config, 2)
print("precision at 2", y_new.gather(1, runner.rank(x_new)).mean().item())
