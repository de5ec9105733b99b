# line 24: the initial agents' state is viewed with the training batch size that the last minibatch does not have; mended by: viewing with the batch size of the input
import torch
import torch.nn as nn
import torch.nn.functional as F

PARAMS = dict(batch_size=16, n_agents=4, n_feat=5, n_samples=100, heads=2, dim=16)


class TrajectoryPredictor(nn.Module):
    """Predicts the next position of each agent from ten past steps."""

    def __init__(self, p):
        super().__init__()
        self.p = p
        self.embed = nn.Linear(p["n_feat"], p["dim"])
        self.temporal = nn.LSTM(p["dim"], p["dim"], batch_first=True)
        self.social = nn.TransformerEncoderLayer(p["dim"], p["heads"], 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(p["dim"], 2)

    def forward(self, x):
        B, N, T, C = x.shape
        h = self.embed(x.reshape(B * N, T, C))
        _, (last, _) = self.temporal(h)
        last = last[-1].view(self.p["batch_size"], N, self.p["dim"])
        return self.out(self.social(last))


def synth(p):
    torch.manual_seed(1)
    start = torch.randn(p["n_samples"], p["n_agents"], 1, 2)
    vel = 0.1 * torch.randn(p["n_samples"], p["n_agents"], 1, 2)
    steps = torch.arange(11).view(1, 1, -1, 1)
    pos = start + steps * vel
    kind = torch.randn(p["n_samples"], p["n_agents"], 1, 1).expand(-1, -1, 10, 1)
    past = torch.cat([pos[:, :, :10], vel.expand(-1, -1, 10, -1), kind], dim=-1)
    return past, pos[:, :, 10]


def train(p):
    past, future = synth(p)
    ds = torch.utils.data.TensorDataset(past, future)
    dl = torch.utils.data.DataLoader(ds, batch_size=p["batch_size"], shuffle=True)
    net = TrajectoryPredictor(p)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for epoch in range(3):
        tot = 0
        for a, b in dl:
            opt.zero_grad()
            loss = F.mse_loss(net(a), b)
            loss.backward()
            opt.step()
            tot += loss.item() * a.size(0)
        print("epoch %d ade %.4f" % (epoch, tot / len(ds)))


train(PARAMS)
