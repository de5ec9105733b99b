import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, encoder_dim, decoder_dim, attention_dim):
        super().__init__()
        self.encoder_att = nn.Linear(encoder_dim, attention_dim)
        self.decoder_att = nn.Linear(decoder_dim, attention_dim)
        self.full_att = nn.Linear(attention_dim, 1)

    def forward(self, encoder_out, h):
        att = self.encoder_att(encoder_out) + self.decoder_att(h).unsqueeze(1)
        alpha = self.full_att(att.relu()).squeeze(2).softmax(dim=1)
        return (encoder_out * alpha.unsqueeze(2)).sum(dim=1), alpha


class Decoder(nn.Module):
    def __init__(self, attention_dim, embed_dim, decoder_dim, vocab_size, encoder_dim):
        super().__init__()
        self.attention = Attention(encoder_dim, decoder_dim, attention_dim)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.decode_step = nn.LSTMCell(embed_dim, decoder_dim)
        self.init_h = nn.Linear(encoder_dim, decoder_dim)
        self.init_c = nn.Linear(encoder_dim, decoder_dim)
        self.fc = nn.Linear(embed_dim, vocab_size)

    def forward(self, encoder_out, captions):
        encoder_out = encoder_out.flatten(1, 2)
        mean = encoder_out.mean(dim=1)
        h, c = self.init_h(mean), self.init_c(mean)
        emb = self.embedding(captions)
        scores = []
        for t in range(captions.size(1) - 1):
            context, alpha = self.attention(encoder_out, h)
            x = torch.cat([emb[:, t], context], dim=1)
            h, c = self.decode_step(x, (h, c))
            scores.append(self.fc(h))
        return torch.stack(scores, dim=1), alpha


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder(16, 20, 32, 90, encoder_dim=24)

    def forward(self, features, captions):
        return self.decoder(features, captions)


def example_inputs():
    return torch.randn(3, 5, 5, 24), torch.randint(0, 90, (3, 9))
