"""Part-of-speech tags with a bidirectional LSTM."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader

WORDS = "the a dog cat bird sees likes chases big small red quickly slowly".split()
KINDS = "D D N N N V V V A A A R R".split()
word_to_ix = {"<pad>": 0, **{w: i + 1 for i, w in enumerate(WORDS)}}
tag_to_ix = {"<pad>": 0, "D": 1, "N": 2, "V": 3, "A": 4, "R": 5}
MAX_LEN = 12


class Sentences(Dataset):
    def __init__(self, n):
        random.seed(n)
        self.data = []
        for _ in range(n):
            picks = [random.randrange(len(WORDS)) for _ in range(random.randint(4, MAX_LEN))]
            words = [word_to_ix[WORDS[p]] for p in picks]
            tags = [tag_to_ix[KINDS[p]] for p in picks]
            rest = [0] * (MAX_LEN - len(picks))
            self.data.append((words + rest, tags + rest))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        words, tags = self.data[i]
        return torch.LongTensor(words), torch.LongTensor(tags)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size):
        super(LSTMTagger, self).__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim, padding_idx=0)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * hidden_dim, tagset_size)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds)
        return F.log_softmax(self.hidden2tag(lstm_out), dim=-1)


torch.manual_seed(1)
train_loader = DataLoader(Sentences(64), batch_size=16, shuffle=True)
dev_loader = DataLoader(Sentences(20), batch_size=10)
model = LSTMTagger(16, 16, len(word_to_ix), len(tag_to_ix))
loss_function = nn.NLLLoss(ignore_index=0)
optimizer = optim.SGD(model.parameters(), lr=0.1)

for epoch in range(3):
    model.train()
    for sentence, tags in train_loader:
        model.zero_grad()
        tag_scores = model(sentence)
        loss = loss_function(tag_scores, tags)
        loss.backward()
        optimizer.step()

    model.eval()
    right = total = 0
    with torch.no_grad():
        for sentence, tags in dev_loader:
            guess = model(sentence).argmax(-1)
            real = tags != 0
            right += (guess[real] == tags[real]).sum().item()
            total += real.sum().item()
    print(f"epoch {epoch}: accuracy {right / total:.3f}")
