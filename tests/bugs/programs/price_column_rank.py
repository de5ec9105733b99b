import torch
import torch.nn as nn


class CTRNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.user_emb = nn.Embedding(60, 8)
        self.item_emb = nn.Embedding(90, 12)
        self.mlp = nn.Sequential(
            nn.Linear(21, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, user, item, price):
        user = self.user_emb(user)
        item = self.item_emb(item)
        x = torch.cat([user, item, price], dim=1)
        return torch.sigmoid(self.mlp(x)).squeeze(1)


def main(user, item, price, clicked):
    net = CTRNet()
    opt = torch.optim.Adagrad(net.parameters(), lr=0.05)
    p = net(user, item, torch.log1p(price))
    loss = nn.BCELoss()(p, clicked)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return p, loss


def example_inputs():
    return (
        torch.randint(0, 60, (20,)),
        torch.randint(0, 90, (20,)),
        torch.rand(20) * 100,
        torch.randint(0, 2, (20,)).float(),
    )
