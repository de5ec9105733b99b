import argparse
from collections import Counter

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader


class JokeDataset(torch.utils.data.Dataset):
    def __init__(self, args):
        self.args = args
        self.words = self.load_words()
        counts = Counter(self.words)
        self.uniq_words = sorted(counts, key=counts.get, reverse=True)
        self.index_to_word = dict(enumerate(self.uniq_words))
        self.word_to_index = {w: i for i, w in self.index_to_word.items()}
        self.words_indexes = [self.word_to_index[w] for w in self.words]

    def load_words(self):
        rng = np.random.default_rng(3)
        nouns, verbs = ['chicken', 'bartender', 'horse', 'programmer', 'doctor'], ['crosses', 'orders', 'asks', 'meets']
        words = []
        for _ in range(260):
            words += ['the', str(rng.choice(nouns)), str(rng.choice(verbs)), 'a', str(rng.choice(nouns)), '.']
        return words

    def __len__(self):
        return len(self.words_indexes) - self.args.sequence_length

    def __getitem__(self, index):
        end = index + self.args.sequence_length
        return (torch.tensor(self.words_indexes[index:end]),
                torch.tensor(self.words_indexes[index + 1:end + 1]))


class WordModel(nn.Module):
    def __init__(self, n_vocab, lstm_size=64, embedding_dim=64, num_layers=2):
        super().__init__()
        self.lstm_size = lstm_size
        self.num_layers = num_layers
        self.embedding = nn.Embedding(n_vocab, embedding_dim)
        self.lstm = nn.LSTM(input_size=embedding_dim, hidden_size=lstm_size,
                            num_layers=num_layers, dropout=0.2)
        self.fc = nn.Linear(lstm_size, n_vocab)

    def forward(self, x, prev_state):
        embed = self.embedding(x)
        output, state = self.lstm(embed, prev_state)
        return self.fc(output), state

    def init_state(self, size):
        return (torch.zeros(self.num_layers, size, self.lstm_size),
                torch.zeros(self.num_layers, size, self.lstm_size))


def train(dataset, model, args):
    model.train()
    dataloader = DataLoader(dataset, batch_size=args.batch_size, drop_last=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    for epoch in range(args.max_epochs):
        state_h, state_c = model.init_state(args.sequence_length)
        for batch, (x, y) in enumerate(dataloader):
            optimizer.zero_grad()
            y_pred, (state_h, state_c) = model(x, (state_h, state_c))
            loss = criterion(y_pred.transpose(1, 2), y)
            state_h, state_c = state_h.detach(), state_c.detach()
            loss.backward()
            optimizer.step()
        print({'epoch': epoch, 'loss': round(loss.item(), 4)})


@torch.no_grad()
def predict(dataset, model, text, next_words=12):
    model.eval()
    words = text.split(' ')
    state = model.init_state(len(words))
    for i in range(next_words):
        x = torch.tensor([[dataset.word_to_index[w] for w in words[i:]]])
        y_pred, state = model(x, state)
        p = torch.softmax(y_pred[0][-1], dim=0).numpy()
        words.append(dataset.index_to_word[int(np.random.choice(len(p), p=p / p.sum()))])
    return ' '.join(words)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--max-epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=64)
    parser.add_argument('--sequence-length', type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    np.random.seed(0)
    dataset = JokeDataset(args)
    model = WordModel(len(dataset.uniq_words))
    train(dataset, model, args)
    print(predict(dataset, model, 'the horse meets a'))
