import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
PAD, SOS, EOS = 0, 1, 2


class SentenceVAE(nn.Module):
    def __init__(self, vocab_size, embedding_size=64, hidden_size=128, word_dropout=0.2, latent_size=16,
                 max_sequence_length=30, num_layers=1, bidirectional=False):
        super().__init__()
        self.max_sequence_length = max_sequence_length
        self.latent_size = latent_size
        self.bidirectional = bidirectional
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.embedding_dropout = nn.Dropout(word_dropout)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, num_layers=num_layers, bidirectional=bidirectional,
                                  batch_first=True)
        self.decoder_rnn = nn.GRU(embedding_size, hidden_size, num_layers=num_layers, bidirectional=bidirectional,
                                  batch_first=True)
        self.hidden_factor = (2 if bidirectional else 1) * num_layers
        self.hidden2mean = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.hidden2logv = nn.Linear(hidden_size * self.hidden_factor, latent_size)
        self.latent2hidden = nn.Linear(latent_size, hidden_size * self.hidden_factor)
        self.outputs2vocab = nn.Linear(hidden_size * (2 if bidirectional else 1), vocab_size)

    def forward(self, input_sequence):
        batch_size = input_sequence.size(0)
        input_embedding = self.embedding(input_sequence)
        _, hidden = self.encoder_rnn(input_embedding)
        if self.bidirectional or self.num_layers > 1:
            hidden = hidden.transpose(0, 1).reshape(batch_size, self.hidden_size * self.hidden_factor)
        else:
            hidden = hidden.squeeze(0)

        mean = self.hidden2mean(hidden)
        logv = self.hidden2logv(hidden)
        z = torch.randn([batch_size, self.latent_size]) * torch.exp(0.5 * logv) + mean

        hidden = self.latent2hidden(z)
        if self.bidirectional or self.num_layers > 1:
            hidden = hidden.view(self.hidden_factor, batch_size, self.hidden_size)
        else:
            hidden = hidden.unsqueeze(0)
        outputs, _ = self.decoder_rnn(self.embedding_dropout(input_embedding), hidden)
        logp = F.log_softmax(self.outputs2vocab(outputs), dim=-1)
        return logp, mean, logv, z

    def inference(self, n=4):
        z = torch.randn([n, self.latent_size])
        hidden = self.latent2hidden(z)
        if self.bidirectional or self.num_layers > 1:
            hidden = hidden.view(self.hidden_factor, n, self.hidden_size)
        else:
            hidden = hidden.unsqueeze(0)

        input_sequence = torch.full((n,), SOS, dtype=torch.long)
        generations = torch.full((n, self.max_sequence_length), PAD, dtype=torch.long)
        for t in range(self.max_sequence_length):
            input_embedding = self.embedding(input_sequence.unsqueeze(1))
            output, hidden = self.decoder_rnn(input_embedding, hidden)
            logits = self.outputs2vocab(output)
            input_sequence = logits.argmax(-1).reshape(-1)
            generations[:, t] = input_sequence
        return generations, z


def loss_fn(NLL, logp, target, mean, logv):
    nll = NLL(logp.view(-1, logp.size(2)), target.reshape(-1))
    kl = -0.5 * torch.sum(1 + logv - mean.pow(2) - logv.exp())
    return nll, kl


vocab_size = 300
sentences = torch.randint(3, vocab_size, (64, 20))
inputs = torch.cat([torch.full((64, 1), SOS), sentences], dim=1)
targets = torch.cat([sentences, torch.full((64, 1), EOS)], dim=1)
loader = DataLoader(TensorDataset(inputs, targets), batch_size=16, shuffle=True)
model = SentenceVAE(vocab_size, num_layers=2)
NLL = nn.NLLLoss(ignore_index=PAD, reduction='sum')
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
step = 0
for epoch in range(2):
    model.train()
    for x, y in loader:
        logp, mean, logv, z = model(x)
        nll, kl = loss_fn(NLL, logp, y, mean, logv)
        loss = (nll + min(1, step / 2500) * kl) / x.size(0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print('Epoch %02d Loss %9.4f' % (epoch, loss.item()))

model.eval()
with torch.no_grad():
    samples, z = model.inference(n=10)
print(samples[:2])
