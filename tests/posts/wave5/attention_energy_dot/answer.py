import torch
import torch.nn as nn
import torch.nn.functional as F

HIDDEN, VOCAB, MAX_LEN = 32, 20, 7


class Attn(nn.Module):
    def __init__(self, hidden_size):
        super(Attn, self).__init__()
        self.attn = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden, encoder_outputs):
        seq_len = len(encoder_outputs)
        attn_energies = torch.zeros(seq_len)
        for i in range(seq_len):
            attn_energies[i] = self.score(hidden, encoder_outputs[i])
        return F.softmax(attn_energies, dim=0).unsqueeze(0).unsqueeze(0)

    def score(self, hidden, encoder_output):
        energy = self.attn(encoder_output)
        energy = hidden.view(-1).dot(energy.view(-1))
        return energy


class Seq2Seq(nn.Module):
    def __init__(self):
        super(Seq2Seq, self).__init__()
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.encoder = nn.GRU(HIDDEN, HIDDEN)
        self.attn = Attn(HIDDEN)
        self.decoder = nn.GRU(HIDDEN * 2, HIDDEN)
        self.out = nn.Linear(HIDDEN * 2, VOCAB)

    def forward(self, source, target):
        encoder_outputs, hidden = self.encoder(self.embedding(source).unsqueeze(1))
        context = torch.zeros(1, HIDDEN)
        word, loss = torch.zeros(1, dtype=torch.long), 0
        for t in range(len(target)):
            rnn_input = torch.cat((self.embedding(word), context), 1).unsqueeze(0)
            rnn_output, hidden = self.decoder(rnn_input, hidden)
            attn_weights = self.attn(rnn_output.squeeze(0), encoder_outputs)
            context = attn_weights.bmm(encoder_outputs.transpose(0, 1)).squeeze(1)
            output = self.out(torch.cat((rnn_output.squeeze(0), context), 1))
            loss = loss + F.cross_entropy(output, target[t:t + 1])
            word = target[t:t + 1]
        return loss / len(target)


torch.manual_seed(0)
pairs = [(torch.randint(1, VOCAB, (MAX_LEN,)), torch.randint(1, VOCAB, (5,))) for _ in range(10)]
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    total = 0
    for source, target in pairs:
        optimizer.zero_grad()
        loss = model(source, target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch, "loss", total / len(pairs))
