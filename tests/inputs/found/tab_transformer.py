import torch
from torch import nn


class TabTransformer(nn.Module):
    """Attention over embedded categories, joined with normalised numbers."""

    def __init__(
        self,
        categories: tuple = (10, 5, 6, 5, 8),
        num_continuous: int = 10,
        dim: int = 8,
        dim_out: int = 1,
    ):
        super().__init__()
        assert all(n > 0 for n in categories), "each category needs values"
        offset = torch.tensor([0, *categories]).cumsum(dim=0)[:-1]
        self.register_buffer("categories_offset", offset)
        self.num_categories = len(categories)
        self.num_continuous = num_continuous
        self.category_embed = nn.Embedding(sum(categories), dim)
        self.transformer = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.1, batch_first=True), 2
        )
        self.norm = nn.LayerNorm(num_continuous)
        self.mlp = nn.Sequential(
            nn.Linear(dim * len(categories) + num_continuous, 16),
            nn.ReLU(),
            nn.Linear(16, dim_out),
        )

    def forward(self, x_categ, x_cont):
        assert x_categ.shape[-1] == self.num_categories, "wrong number of categories"
        x_categ = x_categ + self.categories_offset
        x = self.transformer(self.category_embed(x_categ))
        assert x_cont.shape[1] == self.num_continuous, "wrong number of numbers"
        joined = torch.cat((x.flatten(1), self.norm(x_cont)), dim=-1)
        return self.mlp(joined)
