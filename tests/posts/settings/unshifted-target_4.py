# line 35: training_step takes the ids of the batch themselves as labels of the causal decoder, without moving them by one
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        q, k, v = rearrange(self.qkv(self.n1(x)), "b t (c h d) -> c b h t d", c=3, h=self.heads)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.merge(rearrange(a, "b h t d -> b t (h d)"))
        return x + self.mlp(self.n2(x))


class MelodyModel(nn.Module):
    def __init__(self, notes=48, width=32, longest=24):
        super().__init__()
        self.notes, self.places = nn.Embedding(notes, width), nn.Embedding(longest, width)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, notes)
        self.opt = torch.optim.AdamW(self.parameters(), lr=2e-3)

    def forward(self, ids):
        return self.head(self.blocks(self.notes(ids) + self.places.weight[: ids.shape[1]]))

    def training_step(self, batch):
        inputs, labels = batch["ids"], batch["ids"].masked_fill(batch["rest"], -100)
        logits = self(inputs)
        loss = F.cross_entropy(rearrange(logits, "b t n -> (b t) n"), rearrange(labels, "b t -> (b t)"), ignore_index=-100)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def melodies(n, length=20):
    key = torch.randint(12, (n, 1))
    moves = torch.tensor([-2, -1, 1, 2, 4])[torch.randint(5, (n, length))]
    return {"ids": (key + 20 + moves.cumsum(1)) % 48, "rest": torch.rand(n, length) < 0.1}


torch.manual_seed(70)
model = MelodyModel()
for step in range(60):
    loss = model.training_step(melodies(24))
    if step % 20 == 19:
        print(step + 1, loss)
