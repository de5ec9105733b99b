import logging
import re

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(message)s")
logger = logging.getLogger("train")


class Config:
    num_cells = 48
    num_queries = 2
    channels = 6
    dim = 32
    heads = 4
    lr = 2e-3
    steps = 15
    freeze_modules = r".*embed.*|.*local_engine.*|.*adapter.*|.*q_cells.*"


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, q, kv):
        return q + self.attn(self.norm(q), kv, kv, need_weights=False)[0]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = CrossAttention(dim, heads)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = self.attn(x, x)
        return x + self.mlp(x)


class ForecastModel(nn.Module):
    def __init__(self, cf):
        super().__init__()
        self.embed = nn.Linear(cf.channels, cf.dim)
        self.local_engine = Block(cf.dim, cf.heads)
        self.adapter = CrossAttention(cf.dim, cf.heads)
        self.q_cells = nn.Parameter(torch.randn(1, cf.num_queries * cf.num_cells, cf.dim) / cf.dim ** 0.5)
        self.forecast_engine = nn.ModuleList([Block(cf.dim, cf.heads) for _ in range(2)])
        self.readout = CrossAttention(cf.dim, cf.heads)
        self.pred_head = nn.Linear(cf.dim, cf.channels)

    def forward(self, fields):
        tokens = self.local_engine(self.embed(fields))
        latent = self.adapter(self.q_cells.expand(fields.size(0), -1, -1), tokens)
        for block in self.forecast_engine:
            latent = block(latent)
        return self.pred_head(self.readout(tokens, latent))


def freeze_weights(block):
    for p in block.parameters():
        p.requires_grad = False


def apply_freeze(model, pattern):
    for name, module in model.named_modules():
        if re.fullmatch(pattern, name) is not None:
            freeze_weights(module)
    for name, p in model.named_parameters():
        if re.fullmatch(pattern, name) is not None:
            p.requires_grad = False


def count_trainable(params):
    return sum(p.numel() for p in params if p.requires_grad)


def print_num_parameters(model):
    logger.info("trainable parameters:")
    logger.info("  embedding:          %6d", count_trainable(model.embed.parameters()))
    logger.info("  local engine:       %6d", count_trainable(model.local_engine.parameters()))
    logger.info("  adapter:            %6d", count_trainable(model.adapter.parameters()))
    logger.info("  learnable queries:  %6d", count_trainable([model.q_cells]))
    logger.info("  forecast engine:    %6d", count_trainable(model.forecast_engine.parameters()))


def sample_fields(cf, batch=8):
    phase = torch.rand(batch, 1, cf.channels) * 6.28
    grid = torch.linspace(0, 6.28, cf.num_cells)[None, :, None]
    return torch.sin(grid + phase), torch.sin(grid + phase + 0.4)


def run(cf):
    torch.manual_seed(42)
    model = ForecastModel(cf)
    apply_freeze(model, cf.freeze_modules)
    print_num_parameters(model)

    queries_before = model.q_cells.detach().clone()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cf.lr)
    for step in range(cf.steps):
        source, target = sample_fields(cf)
        loss = nn.functional.mse_loss(model(source), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 7 == 0:
            logger.info("step %d loss %.4f", step, loss.item())
    change = (model.q_cells - queries_before).abs().mean().item()
    logger.info("mean change of the queries: %.6f", change)


if __name__ == "__main__":
    run(Config())
