import torch
import torch.nn as nn


class TitleContentCNN(nn.Module):
    """Topic tagging of questions: one branch reads the title, one the description."""

    def __init__(self, vocab_size=3000, embed_dim=256, n_topics=20):
        super(TitleContentCNN, self).__init__()
        self.encoder = nn.Embedding(vocab_size, embed_dim)
        self.title_conv = nn.Sequential(
            nn.Conv1d(in_channels=1, out_channels=64, kernel_size=(1, embed_dim)),
            nn.ReLU(),
        )
        self.content_conv = nn.Sequential(
            nn.Conv1d(in_channels=1, out_channels=64, kernel_size=(1, embed_dim)),
            nn.ReLU(),
        )
        self.fc = nn.Sequential(
            nn.Linear(128, 96),
            nn.BatchNorm1d(96),
            nn.ReLU(),
            nn.Linear(96, n_topics),
        )

    def forward(self, title, content):
        title = self.encoder(title).transpose(1, 2)
        content = self.encoder(content).transpose(1, 2)
        title_out = self.title_conv(title).max(dim=2)[0]
        content_out = self.content_conv(content).max(dim=2)[0]
        both = torch.cat((title_out, content_out), dim=1)
        return self.fc(both)
