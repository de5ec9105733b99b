# line 31: both halves of the bidirectional LSTM are taken at the last step, the backward one too, which ends at step 0
import torch
import torch.nn as nn
import torch.nn.functional as F

params = {"alphabet": 4, "length": 24, "hidden": 16, "lr": 1e-2, "batch": 40, "epochs": 14}


def sequences(n, p):
    dna = torch.randint(0, p["alphabet"], (n, p["length"]))
    label = torch.rand(n) < 0.5
    motif = torch.tensor([0, 1, 2, 3, 0])
    for row in torch.nonzero(label).flatten().tolist():
        at = int(torch.randint(0, p["length"] - 5, (1,)))
        dna[row, at : at + 5] = motif
    return dna, label.float()


class PromoterNet(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.n = p["alphabet"]
        self.conv = nn.Conv1d(self.n, 16, 5, padding=2)
        self.lstm = nn.LSTM(16, p["hidden"], batch_first=True, bidirectional=True)
        self.mlp = nn.Sequential(nn.Linear(2 * p["hidden"], 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dna):
        x = F.one_hot(dna, self.n).float().transpose(1, 2)
        x = F.relu(self.conv(x)).transpose(1, 2)
        forward_half, backward_half = self.lstm(x)[0].chunk(2, dim=-1)
        ends = [forward_half[:, -1], backward_half[:, 0]]
        return self.mlp(torch.cat(ends, dim=1)).squeeze(1)


def main(p):
    torch.manual_seed(0)
    dna, label = sequences(600, p)
    test_dna, test_label = sequences(200, p)
    net = PromoterNet(p)
    opt = torch.optim.Adam(net.parameters(), lr=p["lr"])
    for epoch in range(p["epochs"]):
        net.train()
        for rows in torch.randperm(len(dna)).split(p["batch"]):
            opt.zero_grad()
            F.binary_cross_entropy_with_logits(net(dna[rows]), label[rows]).backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        print("accuracy", ((net(test_dna) > 0) == test_label.bool()).float().mean().item())


main(params)
