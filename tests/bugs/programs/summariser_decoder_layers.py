import torch
import torch.nn as nn

cfg = {
    "src_vocab": 160,
    "tgt_vocab": 110,
    "emb": 24,
    "hid": 36,
    "layers": 2,
    "dropout": 0.0,
}


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg["src_vocab"], cfg["emb"])
        self.rnn = nn.GRU(
            cfg["emb"],
            cfg["hid"],
            num_layers=cfg["layers"],
            dropout=cfg["dropout"],
            batch_first=True,
        )

    def forward(self, src):
        _, hidden = self.rnn(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg["tgt_vocab"], cfg["emb"])
        self.rnn = nn.GRU(cfg["emb"], cfg["hid"], batch_first=True)
        self.out = nn.Linear(cfg["hid"], cfg["tgt_vocab"])

    def forward(self, tgt, hidden):
        output, hidden = self.rnn(self.embedding(tgt), hidden)
        return self.out(output)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder(cfg)
        self.decoder = Decoder(cfg)

    def forward(self, src, tgt):
        hidden = self.encoder(src)
        return self.decoder(tgt, hidden)


def example_inputs():
    return torch.randint(0, 160, (4, 21)), torch.randint(0, 110, (4, 9))
