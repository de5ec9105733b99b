# line 28: the one block that stands for all layers is listed once per layer for the optimizer
import torch
import torch.nn as nn

CONFIG = {"dim": 24, "depth": 4, "tokens": 20, "lr": 2e-3, "steps": 60}


class SharedDepthEncoder(nn.Module):
    """All layers have the weights of one block, as in ALBERT."""

    def __init__(self, cfg):
        super().__init__()
        block = nn.TransformerEncoderLayer(cfg["dim"], 2, 48, dropout=0.0, batch_first=True)
        self.embed = nn.Embedding(cfg["tokens"], cfg["dim"])
        self.layers = [block for _ in range(cfg["depth"])]
        self.block = block
        self.head = nn.Linear(cfg["dim"], 2)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def build_optimizer(model, cfg):
    params = list(model.embed.parameters()) + list(model.head.parameters())
    for layer in model.layers:
        params.extend(layer.parameters())
    return torch.optim.AdamW(params, lr=cfg["lr"])


def batch(n, cfg):
    ids = torch.randint(0, cfg["tokens"], (n, 10))
    return ids, (ids[:, 0] < cfg["tokens"] // 2).long()


def main(cfg):
    torch.manual_seed(4)
    model = SharedDepthEncoder(cfg)
    optimizer = build_optimizer(model, cfg)
    for step in range(cfg["steps"]):
        ids, y = batch(32, cfg)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids), y)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, loss.item())
    model.eval()
    with torch.no_grad():
        ids, y = batch(200, cfg)
        print("accuracy", (model(ids).argmax(1) == y).float().mean().item())


main(CONFIG)
