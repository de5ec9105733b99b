import torch
import torch.nn as nn
import torch.nn.functional as F


class SignatureNet(nn.Module):
    """Embeds a grey scan of a signature; genuine pairs end up close to each other."""

    def __init__(self, embed_dim=256):
        super(SignatureNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=5),
            nn.PReLU(),
            nn.MaxPool2d(2, stride=2),
            nn.Conv2d(32, 64, kernel_size=5),
            nn.PReLU(),
            nn.MaxPool2d(2, stride=2),
        )
        self.head = nn.Sequential(
            nn.Linear(64 * 4 * 4, 256),
            nn.PReLU(),
            nn.Linear(256, embed_dim),
        )

    def forward(self, scan):
        maps = self.features(scan)
        flat = maps.view(maps.size(0), -1)
        return F.normalize(self.head(flat), dim=1)


class TripletSignatures(nn.Module):
    def __init__(self):
        super(TripletSignatures, self).__init__()
        self.embed = SignatureNet()

    def forward(self, anchor, positive, negative):
        a = self.embed(anchor)
        p = self.embed(positive)
        n = self.embed(negative)
        return F.triplet_margin_loss(a, p, n, margin=0.5)
