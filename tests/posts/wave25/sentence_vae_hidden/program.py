import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SentenceVAE(nn.Module):
    def __init__(self, vocab_size, embedding_size=24, hidden_size=32, latent_size=16, num_layers=1,
                 bidirectional=True, sos_idx=1, pad_idx=0):
        super().__init__()
        self.sos_idx, self.pad_idx = sos_idx, pad_idx
        self.hidden_size = hidden_size
        self.hidden_factor = (2 if bidirectional else 1) * num_layers
        self.embedding = nn.Embedding(vocab_size, embedding_size, padding_idx=pad_idx)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, num_layers=num_layers,
                                  bidirectional=bidirectional, batch_first=True)
        self.decoder_rnn = nn.GRU(embedding_size + latent_size, hidden_size, batch_first=True)
        self.hidden2mean = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.hidden2logv = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.latent2hidden = nn.Linear(latent_size, hidden_size)
        self.outputs2vocab = nn.Linear(hidden_size, vocab_size)

    def encode(self, input_sequence):
        batch_size = input_sequence.size(0)
        _, hidden = self.encoder_rnn(self.embedding(input_sequence))
        if self.hidden_factor > 1:
            hidden = hidden.view(batch_size, self.hidden_size * self.hidden_factor)
        else:
            hidden = hidden.squeeze(0)
        return self.hidden2mean(hidden), self.hidden2logv(hidden)

    def decode(self, z, input_sequence):
        sos = torch.full_like(input_sequence[:, :1], self.sos_idx)
        shifted = torch.cat([sos, input_sequence[:, :-1]], dim=1)
        emb = self.embedding(shifted)
        emb = torch.cat([emb, z.unsqueeze(1).expand(-1, emb.size(1), -1)], dim=-1)
        outputs, _ = self.decoder_rnn(emb, torch.tanh(self.latent2hidden(z)).unsqueeze(0))
        return F.log_softmax(self.outputs2vocab(outputs), dim=-1)

    def forward(self, input_sequence):
        mean, logv = self.encode(input_sequence)
        std = torch.exp(0.5 * logv)
        z = mean + torch.randn_like(std) * std if self.training else mean
        return self.decode(z, input_sequence), mean, logv


def kl_anneal(step, k=0.02, x0=400):
    return 1.0 / (1.0 + torch.exp(torch.tensor(-k * (step - x0))).item())


def loss_fn(logp, target, mean, logv, pad_idx):
    nll = F.nll_loss(logp.reshape(-1, logp.size(-1)), target.reshape(-1), ignore_index=pad_idx, reduction="sum")
    kl = -0.5 * torch.sum(1 + logv - mean.pow(2) - logv.exp())
    return nll, kl


def sentences(n, vocab_size, length=8):
    first = torch.randint(2, vocab_size, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    return (first - 2 + step * torch.arange(length)) % (vocab_size - 2) + 2


if __name__ == "__main__":
    vocab_size, batch_size = 22, 32
    model = SentenceVAE(vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for step in range(400):
        model.train()
        batch = sentences(batch_size, vocab_size)
        logp, mean, logv = model(batch)
        nll, kl = loss_fn(logp, batch, mean, logv, model.pad_idx)
        loss = (nll + 0.1 * kl_anneal(step) * kl) / batch_size
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print("step %4d NLL %.3f KL %.3f" % (step + 1, nll.item() / batch_size, kl.item() / batch_size))
    model.eval()
    with torch.no_grad():
        test = sentences(200, vocab_size)
        logp, _, _ = model(test)
        print("first word rebuilt: %.1f%%" % (100 * (logp[:, 0].argmax(-1) == test[:, 0]).float().mean().item()))
