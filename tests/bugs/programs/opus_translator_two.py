from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Hyper:
    src_vocab: int = 70
    tgt_vocab: int = 85
    emb_size: int = 32
    nhead: int = 4
    ffn_hid_dim: int = 64
    num_layers: int = 1


class Seq2SeqTransformer(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.transformer = nn.Transformer(
            d_model=hp.emb_size,
            nhead=hp.nhead,
            num_encoder_layers=hp.num_layers,
            num_decoder_layers=hp.num_layers,
            dim_feedforward=hp.ffn_hid_dim,
            batch_first=True,
        )
        self.src_tok_emb = nn.Embedding(hp.src_vocab, hp.emb_size)
        self.tgt_tok_emb = nn.Embedding(hp.tgt_vocab, hp.ffn_hid_dim)
        self.generator = nn.Linear(hp.emb_size, hp.src_vocab)

    def forward(self, src, trg):
        mask = nn.Transformer.generate_square_subsequent_mask(trg.size(1))
        src_emb = self.src_tok_emb(src)
        tgt_emb = self.tgt_tok_emb(trg)
        outs = self.transformer(src_emb, tgt_emb, tgt_mask=mask)
        return self.generator(outs)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hp = Hyper()
        self.net = Seq2SeqTransformer(self.hp)

    def forward(self, src, tgt):
        logits = self.net(src, tgt[:, :-1])
        smooth = torch.full((self.hp.tgt_vocab,), 1.0)
        smooth[0] = 0.0  # no weight for padding
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), smooth)
        return logits, loss


def example_inputs():
    return torch.randint(1, 70, (3, 12)), torch.randint(1, 85, (3, 15))
