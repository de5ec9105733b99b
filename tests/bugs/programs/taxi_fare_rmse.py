import torch
import torch.nn as nn


class TabularModel(nn.Module):
    def __init__(self, emb_szs, n_cont, layers, p=0.3):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(ni, nf) for ni, nf in emb_szs])
        self.bn_cont = nn.BatchNorm1d(n_cont)
        n_in = sum(nf for _, nf in emb_szs) + n_cont
        layerlist = []
        for i in layers:
            layerlist += [nn.Linear(n_in, i), nn.ReLU(), nn.BatchNorm1d(i)]
            n_in = i
        layerlist.append(nn.Linear(layers[-1], 1))
        self.layers = nn.Sequential(*layerlist)

    def forward(self, x_cat, x_cont):
        embeddings = [e(x_cat[:, i]) for i, e in enumerate(self.embeds)]
        x = torch.cat(embeddings, 1)
        x_cont = self.bn_cont(x_cont)
        return self.layers(torch.cat([x, x_cont], 1))


def rmse(pred, fares):
    return ((pred - fares) ** 2).mean().sqrt()


def main(cats, conts, fares):
    model = TabularModel([(24, 12), (2, 1), (7, 4)], conts.shape[1], [20, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    y_pred = model(cats, conts)
    loss = rmse(y_pred, fares)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def example_inputs():
    torch.manual_seed(1)
    cats = torch.stack([torch.randint(0, n, (16,)) for n in (24, 2, 7)], 1)
    return cats, torch.randn(16, 6), torch.rand(16) * 40
