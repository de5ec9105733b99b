import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS = 0, 1


class EncoderRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size, bidirectional=False, n_layers=1):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, n_layers, batch_first=True, bidirectional=bidirectional)

    def forward(self, src):
        return self.rnn(self.embedding(src))


class DecoderRNN(nn.Module):
    def __init__(self, vocab_size, hidden_size, bidirectional_encoder=False, n_layers=1):
        super().__init__()
        self.bidirectional_encoder = bidirectional_encoder
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, n_layers, batch_first=True)
        self.out = nn.Linear(2 * hidden_size, vocab_size)

    def init_state(self, encoder_hidden):
        if self.bidirectional_encoder:
            return torch.cat([encoder_hidden[0::2], encoder_hidden[1::2]], dim=2)
        return encoder_hidden

    def forward(self, tgt, encoder_outputs, encoder_hidden):
        output, _ = self.rnn(self.embedding(tgt), self.init_state(encoder_hidden))
        attn = F.softmax(torch.bmm(output, encoder_outputs.transpose(1, 2)), dim=-1)
        mix = torch.bmm(attn, encoder_outputs)
        return self.out(torch.cat([output, mix], dim=2))


class Seq2seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src, tgt):
        encoder_outputs, encoder_hidden = self.encoder(src)
        return self.decoder(tgt, encoder_outputs, encoder_hidden)


def reversed_numbers(n, length=6, vocab_size=12):
    """the toy task: say the digits backwards"""
    src = torch.randint(2, vocab_size, (n, length))
    out = torch.cat([src.flip(1), torch.full((n, 1), EOS)], dim=1)
    inp = torch.cat([torch.full((n, 1), SOS), out[:, :-1]], dim=1)
    return src, inp, out


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden_size", type=int, default=48)
    parser.add_argument("--bidirectional", action="store_true")
    parser.add_argument("--steps", type=int, default=150)
    opt = parser.parse_args(argv)

    torch.manual_seed(0)
    vocab_size = 12
    hidden_size = opt.hidden_size
    bidirectional = opt.bidirectional
    encoder = EncoderRNN(vocab_size, hidden_size, bidirectional=bidirectional)
    decoder = DecoderRNN(vocab_size, hidden_size * 2 if bidirectional else 1,
                         bidirectional_encoder=bidirectional)
    model = Seq2seq(encoder, decoder)
    for param in model.parameters():
        param.data.uniform_(-0.15, 0.15)

    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(opt.steps):
        src, inp, out = reversed_numbers(64)
        logits = model(src, inp)
        loss = F.cross_entropy(logits.flatten(0, 1), out.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if step % 50 == 49:
            right = (logits.argmax(dim=-1) == out).float().mean().item()
            print(f"step {step + 1} loss {loss.item():.3f} tokens right {right:.3f}")


if __name__ == "__main__":
    main()
