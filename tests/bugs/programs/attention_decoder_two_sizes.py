import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, enc_hid, dec_hid):
        super().__init__()
        self.attn = nn.Linear(enc_hid + dec_hid, dec_hid)
        self.v = nn.Linear(dec_hid, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        src_len = encoder_outputs.shape[1]
        hidden = hidden.unsqueeze(1).repeat(1, src_len, 1)
        energy = self.attn(torch.cat((hidden, encoder_outputs), dim=2))
        return F.softmax(self.v(torch.tanh(energy)).squeeze(2), dim=1)


class Translator(nn.Module):
    def __init__(self, src_words, trg_words, emb_dim, enc_hid, dec_hid):
        super().__init__()
        self.src_emb = nn.Embedding(src_words, emb_dim)
        self.trg_emb = nn.Embedding(trg_words, emb_dim)
        self.encoder = nn.GRU(emb_dim, enc_hid, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * enc_hid, dec_hid)
        self.attention = Attention(enc_hid, dec_hid)
        self.cell = nn.GRUCell(emb_dim, dec_hid)
        self.fc_out = nn.Linear(dec_hid + 2 * enc_hid + emb_dim, trg_words)

    def forward(self, src, trg):
        outputs, h = self.encoder(self.src_emb(src))
        hidden = torch.tanh(self.bridge(torch.cat((h[-2], h[-1]), dim=1)))
        predictions = []
        for token in trg.unbind(1):
            embedded = self.trg_emb(token)
            a = self.attention(hidden, outputs)
            context = torch.bmm(a.unsqueeze(1), outputs).squeeze(1)
            hidden = self.cell(torch.cat((embedded, context), dim=1), hidden)
            full = torch.cat((hidden, context, embedded), dim=1)
            predictions.append(self.fc_out(full))
        return torch.stack(predictions, dim=1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Translator(95, 85, emb_dim=14, enc_hid=18, dec_hid=26)

    def forward(self, src, trg):
        return self.net(src, trg)


def example_inputs():
    return torch.randint(0, 95, (3, 10)), torch.randint(0, 85, (3, 6))
