import torch
import torch.nn as nn

config = {
    "features": 6,
    "d_model": 32,
    "nhead": 4,
    "layers": 2,
    "dropout": 0.0,
    "window": 20,
}


class Model(nn.Module):
    """Tomorrow's return from the last 20 days."""

    def __init__(self):
        super().__init__()
        d = config["d_model"]
        self.input_projection = nn.Linear(config["features"], d)
        self.position = nn.Parameter(0.02 * torch.randn(config["window"], d))
        layer = nn.TransformerEncoderLayer(
            d, config["nhead"], 64, dropout=config["dropout"]
        )
        self.encoder = nn.TransformerEncoder(layer, config["layers"])
        self.decoder = nn.Linear(d, 1)

    def forward(self, src):
        # src: (batch, days, features)
        x = self.input_projection(src)
        x = x + self.position[: x.size(1)]
        x = self.encoder(x)
        return self.decoder(x[:, -1])


def example_inputs():
    return (torch.randn(5, 20, 6),)
