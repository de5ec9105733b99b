import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)

START_TAG, STOP_TAG = "<START>", "<STOP>"
tag_to_ix = {"B": 0, "I": 1, "O": 2, START_TAG: 3, STOP_TAG: 4}
N = len(tag_to_ix)


def log_sum_exp(t, dim):
    return torch.logsumexp(t, dim)


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim):
        super(BiLSTM_CRF, self).__init__()
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, N)
        # transitions[i, j]: score of going from j to i
        self.transitions = nn.Parameter(torch.randn(N, N))
        self.transitions.data[tag_to_ix[START_TAG], :] = -10000
        self.transitions.data[:, tag_to_ix[STOP_TAG]] = -10000

    def _get_lstm_features(self, sentence):
        out, _ = self.lstm(self.word_embeds(sentence).unsqueeze(1))
        return self.hidden2tag(out.squeeze(1))

    def _forward_alg(self, feats):
        forward_var = torch.full((N,), -10000.)
        forward_var[tag_to_ix[START_TAG]] = 0.
        for feat in feats:
            forward_var = log_sum_exp(forward_var.unsqueeze(0) + self.transitions, 1) + feat
        return log_sum_exp(forward_var + self.transitions[tag_to_ix[STOP_TAG]], 0)

    def _score_sentence(self, feats, tags):
        score = torch.zeros(1)
        tags = torch.cat([torch.tensor([tag_to_ix[START_TAG]]), tags])
        for i, feat in enumerate(feats):
            score = score + self.transitions[tags[i + 1], tags[i]] + feat[tags[i + 1]]
        return score + self.transitions[tag_to_ix[STOP_TAG], tags[-1]]

    def neg_log_likelihood(self, sentence, tags):
        feats = self._get_lstm_features(sentence)
        return (self._forward_alg(feats) - self._score_sentence(feats, tags)).squeeze()


training_data = [(
    "the wall street journal reported today that apple corporation made money".split(),
    "B I I I O O O B I O O".split()
), (
    "georgia tech is a university in georgia".split(),
    "B I O O O O B".split()
), (
    "researchers at the university of oxford visited apple".split(),
    "O O O B I I O B".split()
)]

word_to_ix = {}
for sentence, tags in training_data:
    for word in sentence:
        word_to_ix.setdefault(word, len(word_to_ix))

model = BiLSTM_CRF(len(word_to_ix), 5, 4)
optimizer = optim.SGD(model.parameters(), lr=0.01, weight_decay=1e-4)

sum_log_likelihood = 0
for epoch in range(40):
    for sentence, tags in training_data:
        sentence_in = torch.tensor([word_to_ix[w] for w in sentence])
        targets = torch.tensor([tag_to_ix[t] for t in tags])
        model.zero_grad()
        neg_log_likelihood = model.neg_log_likelihood(sentence_in, targets)
        sum_log_likelihood += neg_log_likelihood.item()
        neg_log_likelihood.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print('epoch', epoch, 'average so far', sum_log_likelihood / ((epoch + 1) * len(training_data)))
