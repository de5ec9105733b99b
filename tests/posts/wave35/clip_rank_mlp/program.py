from dataclasses import dataclass, field
from typing import List, Optional

import torch
from torch import nn


@dataclass
class MlpConfig:
    layer_sizes: List[int]
    batch_norm: bool = False
    dropout: Optional[float] = None
    final_layer_activation: bool = False


@dataclass
class RankConfig:
    n_users: int = 300
    n_posts: int = 400
    embedding_dim: int = 16
    dense_features: int = 10
    mlp: MlpConfig = field(default_factory=lambda: MlpConfig([64, 32, 16], dropout=0.1, final_layer_activation=True))
    tasks: List[str] = field(default_factory=lambda: ["like", "reply", "repost"])


class Mlp(nn.Module):
    def __init__(self, in_features: int, config: MlpConfig):
        super().__init__()
        self.config = config
        sizes = config.layer_sizes
        modules = []
        for size in sizes[:-1]:
            modules.append(nn.Linear(in_features, size, bias=True))
            if config.batch_norm:
                modules.append(nn.BatchNorm1d(size))
            modules.append(nn.ReLU())
            if config.dropout:
                modules.append(nn.Dropout(config.dropout))
            in_features = size
        modules.append(nn.Linear(in_features, sizes[-1], bias=True))
        if config.final_layer_activation:
            modules.append(nn.ReLU())
        self.layers = modules

    def forward(self, x: torch.Tensor):
        net = x
        for layer in self.layers:
            net = layer(net)
        return {"output": net}

    @property
    def out_features(self):
        return self.config.layer_sizes[-1]


class HeavyRanker(nn.Module):
    def __init__(self, config: RankConfig):
        super().__init__()
        self.user_embedding = nn.Embedding(config.n_users, config.embedding_dim)
        self.post_embedding = nn.Embedding(config.n_posts, config.embedding_dim)
        self.dense_norm = nn.LayerNorm(config.dense_features)
        in_features = 2 * config.embedding_dim + config.dense_features
        self.backbone = Mlp(in_features, config.mlp)
        self.towers = nn.Linear(self.backbone.out_features, len(config.tasks))

    def forward(self, batch):
        u = self.user_embedding(batch["user"])
        p = self.post_embedding(batch["post"])
        d = self.dense_norm(batch["dense"])
        hidden = self.backbone(torch.cat([u, p, d], dim=1))["output"]
        return self.towers(hidden)


def make_batches(config, n_batches, batch_size, seed):
    g = torch.Generator().manual_seed(seed)
    taste = torch.randn(config.n_users, len(config.tasks), generator=torch.Generator().manual_seed(5))
    for _ in range(n_batches):
        user = torch.randint(0, config.n_users, (batch_size,), generator=g)
        post = torch.randint(0, config.n_posts, (batch_size,), generator=g)
        dense = torch.randn(batch_size, config.dense_features, generator=g)
        score = taste[user] + dense[:, :3] * dense[:, 3:6]
        yield {"user": user, "post": post, "dense": dense, "labels": (score > 0.5).float()}


def train(config, steps=300, batch_size=64):
    model = HeavyRanker(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    n_params = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"trainable parameters: {n_params}")
    model.train()
    running = 0.0
    for step, batch in enumerate(make_batches(config, steps, batch_size, seed=0), 1):
        logits = model(batch)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % 100 == 0:
            print(f"step {step}: bce {running / 100:.4f}")
            running = 0.0
    return model


@torch.no_grad()
def evaluate(model, config):
    model.eval()
    total, n = 0.0, 0
    for batch in make_batches(config, 20, 128, seed=1):
        total += nn.functional.binary_cross_entropy_with_logits(model(batch), batch["labels"]).item()
        n += 1
    return total / n


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = RankConfig()
    ranker = train(cfg)
    print(f"holdout bce {evaluate(ranker, cfg):.4f}")
