import torch
import torch.nn as nn
import torch.nn.functional as F


class CNNText(nn.Module):
    def __init__(self, vocab_size, embedding_dim, n_filters, filter_sizes, output_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=1)
        self.convs = nn.ModuleList(
            [nn.Conv1d(embedding_dim, n_filters, fs) for fs in filter_sizes]
        )
        self.fc = nn.Linear(len(filter_sizes) * n_filters, output_dim)
        self.dropout = nn.Dropout(0.5)

    def forward(self, text):
        # text = [batch size, sent len]
        x = self.embedding(text)
        pooled = []
        for conv in self.convs:
            c = F.relu(conv(x))
            pooled.append(F.max_pool1d(c, c.shape[2]).squeeze(2))
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = CNNText(
            vocab_size=220,
            embedding_dim=30,
            n_filters=16,
            filter_sizes=[3, 4, 5],
            output_dim=5,
        )

    def forward(self, text):
        return self.cnn(text)


def example_inputs():
    return (torch.randint(0, 220, (4, 26)),)
