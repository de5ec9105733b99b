import torch
import torch.nn as nn


class LoanNet(nn.Module):
    """Default of a loan from three coded columns: housing, purpose and region."""

    def __init__(self, codes=4, dim=8, columns=3):
        super().__init__()
        self.lookup = nn.Sequential(*[nn.Embedding(codes, dim) for _ in range(columns)])
        self.body = nn.Sequential(
            nn.Linear(columns * dim, 256), nn.BatchNorm1d(256), nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(256, 32), nn.BatchNorm1d(32), nn.ReLU(),
        )
        self.score = nn.Linear(32, 2)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, table):
        vectors = self.lookup(table)
        hidden = self.body(vectors.flatten(1))
        return self.score(hidden)
