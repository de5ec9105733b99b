import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, enc_hid_dim, dec_hid_dim):
        super().__init__()
        self.attn = nn.Linear(enc_hid_dim + dec_hid_dim, dec_hid_dim)
        self.v = nn.Linear(dec_hid_dim, 1, bias=False)

    def forward(self, hidden, enc):
        hidden = hidden.unsqueeze(1).repeat(1, enc.shape[1], 1)
        energy = torch.tanh(self.attn(torch.cat((hidden, enc), dim=2)))
        return F.softmax(self.v(energy).squeeze(2), dim=1)


class Decoder(nn.Module):
    def __init__(self, output_dim, emb_dim, enc_hid_dim, dec_hid_dim):
        super().__init__()
        self.attention = Attention(enc_hid_dim, dec_hid_dim)
        self.embedding = nn.Embedding(output_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, dec_hid_dim, batch_first=True)
        self.fc_out = nn.Linear(enc_hid_dim * 2 + dec_hid_dim + emb_dim, output_dim)

    def forward(self, token, hidden, enc):
        embedded = self.embedding(token).unsqueeze(1)
        a = self.attention(hidden, enc).unsqueeze(1)
        context = torch.bmm(a, enc)
        output, hidden = self.rnn(torch.cat((embedded, context), dim=2), hidden.unsqueeze(0))
        prediction = self.fc_out(torch.cat((output, context), dim=2).squeeze(1))
        return prediction, hidden.squeeze(0), a.squeeze(1)


class Model(nn.Module):
    def __init__(self, input_dim=40, output_dim=15, emb_dim=12, enc_hid_dim=20, dec_hid_dim=28):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, enc_hid_dim, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(enc_hid_dim * 2, dec_hid_dim)
        self.decoder = Decoder(output_dim, emb_dim, enc_hid_dim, dec_hid_dim)

    def forward(self, src, trg):
        outputs, h = self.rnn(self.embedding(src))
        hidden = torch.tanh(self.fc(torch.cat((h[-2], h[-1]), dim=1)))
        steps = []
        for t in range(trg.shape[1]):
            pred, hidden, _ = self.decoder(trg[:, t], hidden, outputs)
            steps.append(pred)
        return torch.stack(steps, dim=1)


def example_inputs():
    return torch.randint(0, 40, (3, 18)), torch.randint(0, 15, (3, 10))
