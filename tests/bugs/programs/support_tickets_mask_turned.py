import torch
import torch.nn as nn


class TicketRouter(nn.Module):
    def __init__(self, ntoken, d_model, nhead, nlayers, num_queues, pad_idx=0):
        super().__init__()
        self.pad_idx = pad_idx
        self.emb = nn.Embedding(ntoken, d_model, padding_idx=pad_idx)
        layer = nn.TransformerEncoderLayer(
            d_model, nhead, 2 * d_model, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, nlayers, enable_nested_tensor=False
        )
        self.decoder = nn.Linear(d_model, num_queues)

    def forward(self, tokens):
        pad_mask = (tokens == self.pad_idx).transpose(0, 1)
        x = self.emb(tokens)
        h = self.encoder(x, src_key_padding_mask=pad_mask)
        return self.decoder(h[:, 0])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = TicketRouter(
            ntoken=120, d_model=24, nhead=3, nlayers=2, num_queues=4
        )

    def forward(self, tokens):
        return self.router(tokens)


def example_inputs():
    tokens = torch.randint(1, 120, (5, 18))
    tokens[1, 12:] = 0
    tokens[3, 7:] = 0
    return (tokens,)
