import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class FeatureSet:
    def __init__(self, real=640, virtual=64):
        self.num_real_features = real
        self.num_virtual_features = virtual
        self.num_features = real + virtual

    def get_virtual_feature_ranges(self):
        return [(self.num_real_features, self.num_features)]


class NNUE(nn.Module):
    def __init__(self, feature_set, l1=64, l2=16):
        super().__init__()
        self.feature_set = feature_set
        self.input = nn.Linear(feature_set.num_features, l1)
        self.l1 = nn.Linear(2 * l1, l2)
        self.output = nn.Linear(l2, 1)
        self._zero_virtual_feature_weights()

    def _zero_virtual_feature_weights(self):
        weights = self.input.weight
        with torch.no_grad():
            for a, b in self.feature_set.get_virtual_feature_ranges():
                weights[:, a:b] = 0.0

    def forward(self, us, them, w_in, b_in):
        w = self.input(w_in)
        b = self.input(b_in)
        l0 = us * torch.cat([w, b], dim=1) + them * torch.cat([b, w], dim=1)
        l0 = torch.clamp(l0, 0.0, 1.0)
        l1 = torch.clamp(self.l1(l0), 0.0, 1.0)
        return self.output(l1)


def positions(n, feature_set):
    white = (torch.rand(n, feature_set.num_features) < 0.05).float()
    black = (torch.rand(n, feature_set.num_features) < 0.05).float()
    us = torch.randint(0, 2, (n, 1)).float()
    score = torch.randn(n, 1)
    return us, 1 - us, white, black, score


feature_set = FeatureSet()
model = NNUE(feature_set)
optimizer = torch.optim.Adam(model.parameters(), lr=8.75e-4)

for step in range(10):
    us, them, white, black, score = positions(128, feature_set)
    prediction = model(us, them, white, black)
    loss = F.mse_loss(torch.sigmoid(prediction), torch.sigmoid(score))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
