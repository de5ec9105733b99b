import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD, BOS = 0, 1
VOCAB = 40
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class PackedLSTM(nn.Module):
    """LSTM over padded sequences of any order of lengths."""

    def __init__(self, d_in, d_out, num_layers=1, dropout=0.0):
        super().__init__()
        self.rnn = nn.LSTM(d_in, d_out, num_layers=num_layers, dropout=dropout, batch_first=True)

    def forward(self, inputs, lengths, hidden=None):
        lens, indices = torch.sort(lengths, dim=0, descending=True)
        inputs = inputs[indices]
        outputs, (h, c) = self.rnn(pack_padded_sequence(inputs, lens.cpu(), batch_first=True), hidden)
        outputs = pad_packed_sequence(outputs, batch_first=True)[0]
        _, _indices = torch.sort(indices, dim=0)
        outputs = outputs[_indices]
        h, c = h[:, _indices, :], c[:, _indices, :]
        return outputs, (h, c)


class CopyModel(nn.Module):
    """Reads a sequence and writes it again."""

    def __init__(self, d_model=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model, padding_idx=PAD)
        self.encoder = PackedLSTM(d_model, d_model)
        self.decoder = nn.LSTM(d_model, d_model, batch_first=True)
        self.out = nn.Linear(d_model, VOCAB)

    def forward(self, source, lengths, decoder_input):
        _, state = self.encoder(self.embed(source), lengths)
        h, _ = self.decoder(self.embed(decoder_input), state)
        return self.out(h)


def make_batch(batch_size=32, max_len=5):
    lengths = torch.randint(2, max_len + 1, (batch_size,))
    lengths[0] = max_len
    source = torch.randint(2, VOCAB, (batch_size, max_len))
    source[torch.arange(max_len).unsqueeze(0) >= lengths.unsqueeze(1)] = PAD
    bos = torch.full((batch_size, 1), BOS)
    decoder_input = torch.cat((bos, source[:, :-1]), dim=1)
    return source.to(device), lengths.to(device), decoder_input.to(device)


def token_accuracy(logits, target):
    keep = target != PAD
    return (logits.argmax(-1)[keep] == target[keep]).float().mean().item()


def train(model, steps=500, log_every=100):
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    model.train()
    for step in range(1, steps + 1):
        source, lengths, decoder_input = make_batch()
        logits = model(source, lengths, decoder_input)
        loss = criterion(logits.flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % log_every == 0:
            print(f"step {step}: loss {loss.item():.4f}, acc {token_accuracy(logits, source):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    model = CopyModel().to(device)
    train(model)
    model.eval()
    with torch.no_grad():
        source, lengths, decoder_input = make_batch(256)
        accuracy = token_accuracy(model(source, lengths, decoder_input), source)
    print(f"test accuracy {accuracy:.3f}")
