import random

import torch
import torch.nn as nn
import torch.optim as optim


class Config:
    vocab_size = 300
    embed_size = 50
    hidden_size = 32
    num_layers = 2
    num_directions = 2
    drop_out = 0.3
    batch_size = 8
    seq_len = 12
    num_tags = 6
    epochs = 3


config = Config()


class BiLSTMTagger(nn.Module):
    def __init__(self, config):
        super(BiLSTMTagger, self).__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.embed_size)
        self.bilstm = nn.LSTM(
            input_size=config.embed_size,
            hidden_size=config.hidden_size,
            num_layers=config.num_layers,
            bidirectional=True,
            bias=True,
            dropout=config.drop_out,
            batch_first=True,
        )
        self.hidden2tag = nn.Linear(config.hidden_size * config.num_directions, config.num_tags)

    def init_state(self, batch_size):
        shape = (self.config.num_layers * self.config.num_directions, batch_size, self.config.hidden_size)
        h0 = torch.randn(shape) * 0.01
        c0 = torch.randn(shape) * 0.01
        return h0, c0

    def forward(self, sentences):
        # sentences: (batch, seq_len)
        embeds = self.embedding(sentences)
        h0, c0 = self.init_state(sentences.size(0))
        output, (hn, cn) = self.bilstm(embeds, (h0, c0))
        return self.hidden2tag(output)


def get_batches(n_sentences):
    sentences, tags = [], []
    for _ in range(n_sentences):
        words = [random.randrange(config.vocab_size) for _ in range(config.seq_len)]
        sentences.append(words)
        tags.append([w % config.num_tags for w in words])
    for start in range(0, n_sentences, config.batch_size):
        stop = start + config.batch_size
        yield torch.LongTensor(sentences[start:stop]), torch.LongTensor(tags[start:stop])


def main():
    random.seed(11)
    torch.manual_seed(11)
    model = BiLSTMTagger(config)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(config.epochs):
        model.train()
        losses, right, total = [], 0, 0
        for sentences, tags in get_batches(160):
            optimizer.zero_grad()
            scores = model(sentences)
            loss = criterion(scores.view(-1, config.num_tags), tags.view(-1))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            right += (scores.argmax(-1) == tags).sum().item()
            total += tags.numel()
        print("epoch {} loss {:.4f} tag acc {:.3f}".format(epoch, sum(losses) / len(losses), right / total))


if __name__ == '__main__':
    main()
