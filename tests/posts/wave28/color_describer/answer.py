import random

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

START, END, UNK, PAD = '<s>', '</s>', '$UNK', '<pad>'


def toy_data(n=60, seed=0):
    """Three colors per context, the last one is the one to describe."""
    rng = np.random.RandomState(seed)
    names = ['red', 'green', 'blue']
    contexts, texts = [], []
    for _ in range(n):
        colors = rng.uniform(0, 1, (3, 3)).astype('float32')
        word = names[int(colors[-1].argmax())]
        text = ['the', word, 'one'] if rng.rand() > 0.5 else ['dark', word] if colors[-1].sum() < 1.5 else [word]
        contexts.append(colors)
        texts.append([START] + text + [END])
    vocab = sorted({w for t in texts for w in t}) + [UNK, PAD]
    return contexts, texts, vocab


class Encoder(nn.Module):
    def __init__(self, color_dim, hidden_dim):
        super().__init__()
        self.rnn = nn.GRU(color_dim, hidden_dim, batch_first=True)

    def forward(self, color_seqs):
        _, hidden = self.rnn(color_seqs)
        return hidden


class Decoder(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim, pad_index):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=pad_index)
        self.rnn = nn.GRU(embed_dim, hidden_dim, batch_first=True)
        self.output_layer = nn.Linear(hidden_dim, vocab_size)

    def get_embeddings(self, word_seqs, target_colors=None):
        return self.embedding(word_seqs)

    def forward(self, word_seqs, seq_lengths=None, hidden=None, target_colors=None):
        embs = self.get_embeddings(word_seqs, target_colors)
        if self.training:
            packed = pack_padded_sequence(embs, seq_lengths, batch_first=True, enforce_sorted=False)
            output, hidden = self.rnn(packed, hidden)
            output, _ = pad_packed_sequence(output, batch_first=True)
        else:
            output, hidden = self.rnn(embs, hidden)
        return self.output_layer(output), hidden


class ColorizedDecoder(Decoder):
    def __init__(self, vocab_size, embed_dim, hidden_dim, pad_index, color_dim):
        super().__init__(vocab_size, embed_dim, hidden_dim, pad_index)
        self.rnn = nn.GRU(embed_dim + color_dim, hidden_dim, batch_first=True)

    def get_embeddings(self, word_seqs, target_colors=None):
        embs = self.embedding(word_seqs)
        colors = target_colors.unsqueeze(1).expand(-1, word_seqs.shape[1], -1)
        return torch.cat((embs, colors), dim=-1)


class ColorizedEncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, color_seqs, word_seqs, seq_lengths=None, hidden=None):
        if hidden is None:
            hidden = self.encoder(color_seqs)
        output, hidden = self.decoder(word_seqs, seq_lengths=seq_lengths, hidden=hidden, target_colors=color_seqs[:, -1, :])
        return output, hidden


class ColorizedInputDescriber:
    def __init__(self, vocab, embed_dim=16, hidden_dim=24, max_iter=10, batch_size=15, eta=0.01):
        self.vocab = vocab
        self.word2index = {w: i for i, w in enumerate(vocab)}
        self.max_iter, self.batch_size, self.eta = max_iter, batch_size, eta
        pad = self.word2index[PAD]
        self.model = ColorizedEncoderDecoder(
            Encoder(3, hidden_dim), ColorizedDecoder(len(vocab), embed_dim, hidden_dim, pad, color_dim=3))
        self.loss = nn.CrossEntropyLoss(ignore_index=pad)

    def batches(self, contexts, texts):
        order = list(range(len(contexts)))
        random.shuffle(order)
        for i in range(0, len(order), self.batch_size):
            ids = order[i:i + self.batch_size]
            colors = torch.tensor(np.array([contexts[j] for j in ids]))
            seqs = [torch.tensor([self.word2index.get(w, self.word2index[UNK]) for w in texts[j]]) for j in ids]
            lengths = torch.tensor([len(s) - 1 for s in seqs])
            words = pad_sequence([s[:-1] for s in seqs], batch_first=True, padding_value=self.word2index[PAD])
            targets = pad_sequence([s[1:] for s in seqs], batch_first=True, padding_value=self.word2index[PAD])
            yield (colors, words, lengths), targets

    def fit(self, contexts, texts):
        opt = torch.optim.Adam(self.model.parameters(), lr=self.eta)
        self.model.train()
        for iteration in range(1, self.max_iter + 1):
            epoch_error = 0.0
            for X_batch, y_batch in self.batches(contexts, texts):
                logits, _ = self.model(*X_batch)
                err = self.loss(logits.transpose(1, 2), y_batch)
                opt.zero_grad()
                err.backward()
                opt.step()
                epoch_error += err.item()
            print('iteration {}; err = {:.4f}'.format(iteration, epoch_error))
        return self

    def predict(self, contexts, max_length=6):
        self.model.eval()
        colors = torch.tensor(np.array(contexts))
        words = torch.full((len(colors), 1), self.word2index[START])
        hidden, out = None, []
        with torch.no_grad():
            for _ in range(max_length):
                logits, hidden = self.model(colors, words, hidden=hidden)
                words = logits.argmax(-1)
                out.append(words)
        texts = [[self.vocab[i] for i in row] for row in torch.cat(out, 1).tolist()]
        return [t[:t.index(END)] if END in t else t for t in texts]


random.seed(0)
torch.manual_seed(0)
toy_contexts, toy_texts, toy_vocab = toy_data()
toy_mod = ColorizedInputDescriber(toy_vocab)
toy_mod.fit(toy_contexts[:45], toy_texts[:45])
for text, gold in zip(toy_mod.predict(toy_contexts[45:50]), toy_texts[45:50]):
    print(text, gold)
