import torch
import torch.nn as nn
import torch.nn.functional as F


class SpanFeatures(nn.Module):
    """Bigram features over the token vectors of a frozen encoder."""

    def __init__(self, hidden=768, maps=100, window=2):
        super().__init__()
        self.conv = nn.Conv1d(hidden, maps, window)
        self.norm = nn.BatchNorm1d(maps)

    def forward(self, tokens):
        feature_map = self.conv(tokens.permute(0, 2, 1))
        return F.relu(self.norm(feature_map))


class SpanClassifier(nn.Module):
    def __init__(self, n_labels=9, hidden=768, maps=100):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.spans = SpanFeatures(hidden, maps)
        self.out = nn.Linear(maps, n_labels)

    def forward(self, tokens):
        spans = self.spans(self.drop(tokens))
        pooled = spans.max(dim=-1).values
        return self.out(pooled)
