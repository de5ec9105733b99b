import torch
import torch.nn as nn
import torch.nn.functional as F

AMINO = "ACDEFGHIKLMNPQRSTVWY-"


class Model(nn.Module):
    def __init__(self, emb=12, filters=30, widths=(3, 5, 7), families=8):
        super().__init__()
        self.embed = nn.Embedding(len(AMINO), emb)
        self.convs = nn.ModuleList(
            nn.Conv1d(emb, filters, w, padding=w // 2) for w in widths
        )
        self.bn = nn.BatchNorm1d(filters * len(widths))
        self.fc = nn.Linear(filters * len(widths), families)

    def forward(self, seq):
        x = self.embed(seq)
        x = x.permute(1, 0, 2)
        feats = [F.relu(conv(x)).amax(dim=-1) for conv in self.convs]
        x = self.bn(torch.cat(feats, dim=1))
        return self.fc(x)


def example_inputs():
    torch.manual_seed(3)
    return (torch.randint(0, len(AMINO), (6, 45)),)
