import numpy as np
import torch
import torch.nn as nn

corpus = """the quick brown fox jumps over the lazy dog while the small cat sleeps near the warm fire
and the old man reads a long book about the sea and the ships that sail far from home""".split()


class CBOW(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super(CBOW, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.linear = nn.Linear(embedding_dim, vocab_size)

    def forward(self, context):
        averaged = self.embedding(context).mean(dim=0)
        return self.linear(averaged)


class Word2VecTrainer:
    def __init__(self, words, window=2, embedding_dim=100):
        self.vocab = sorted(set(words))
        self.vocab_size = len(self.vocab)
        self.word2idx = {w: i for i, w in enumerate(self.vocab)}
        self.train_data = self.make_pairs(words, window)
        self.model = CBOW(self.vocab_size, embedding_dim)

    def make_pairs(self, words, window):
        pairs = []
        for i in range(window, len(words) - window):
            context = words[i - window:i] + words[i + 1:i + window + 1]
            pairs.append(([self.word2idx[w] for w in context], self.word2idx[words[i]]))
        return pairs

    def train(self, num_epochs=2, learning_rate=0.05):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=learning_rate)
        criterion = nn.CrossEntropyLoss()
        for epoch in range(num_epochs):
            total = 0.0
            for idx, sample in enumerate(self.train_data):
                x = torch.tensor(sample[0], dtype=torch.long)
                y = np.zeros(shape=(self.vocab_size))
                y[int(sample[1])] = np.float64(1)
                y = torch.tensor(y, dtype=torch.long)

                optimizer.zero_grad()
                output = self.model(x)
                loss = criterion(output, y)
                loss.backward()
                optimizer.step()
                total += loss.item()
            print('epoch', epoch, 'loss', total / len(self.train_data))


if __name__ == '__main__':
    w2v = Word2VecTrainer(corpus)
    print('vocabulary:', w2v.vocab_size, 'pairs:', len(w2v.train_data))
    w2v.train()
