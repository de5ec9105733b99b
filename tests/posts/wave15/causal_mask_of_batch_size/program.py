import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        freq = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = torch.sin(pos * freq)
        table[:, 1::2] = torch.cos(pos * freq)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[:x.size(1)]


class SalesTransformer(nn.Module):
    """one number per week and shop from what was known up to that week"""

    def __init__(self, n_features, hidden_dim=16):
        super().__init__()
        self.embed = nn.Linear(n_features, hidden_dim * 2)
        self.position = PositionalEncoding(hidden_dim * 2)
        self.transformer = nn.Transformer(
            hidden_dim * 2, 4, num_encoder_layers=1, num_decoder_layers=1,
            dim_feedforward=64, dropout=0.1, batch_first=True)
        self.head = nn.Linear(hidden_dim * 2, 1)

    def forward(self, x):
        h = self.position(self.embed(x))
        attention_mask = nn.Transformer.generate_square_subsequent_mask(x.shape[0])
        h = self.transformer(h, h, src_mask=attention_mask, tgt_mask=attention_mask,
                             memory_mask=attention_mask)
        return self.head(h).squeeze(-1)


def weekly_sales(n_shops=192, weeks=52, n_features=6):
    x = torch.randn(n_shops, weeks, n_features)
    season = torch.sin(2 * math.pi * torch.arange(weeks) / 52)
    x[:, :, 0] = season
    y = 2 * season + 0.5 * x[:, :, 1] + 0.3 * x[:, :, 2].cumsum(dim=1) / 5
    return x, y + 0.1 * torch.randn_like(y)


def main():
    torch.manual_seed(0)
    x, y = weekly_sales()
    train_x, train_y, val_x, val_y = x[:128], y[:128], x[128:], y[128:]

    model = SalesTransformer(x.size(-1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()

    for epoch in range(5):
        model.train()
        for idx in torch.randperm(len(train_x)).split(64):
            loss = criterion(model(train_x[idx]), train_y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = criterion(model(val_x), val_y).item()
        print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
