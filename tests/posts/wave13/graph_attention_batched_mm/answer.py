import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha=0.2, concat=True):
        super().__init__()
        self.concat = concat
        self.W = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_features, out_features), gain=1.4))
        self.a = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * out_features, 1), gain=1.4))
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, x, adj):
        h = torch.mm(x, self.W)
        n_out = h.size(1)
        source = torch.mm(h, self.a[:n_out])
        target = torch.mm(h, self.a[n_out:])
        e = self.leakyrelu(source + target.t())
        attention = F.softmax(e.masked_fill(adj == 0, -9e15), dim=1)
        h = torch.mm(attention, h)
        return F.elu(h) if self.concat else h


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, nheads):
        super().__init__()
        self.heads = nn.ModuleList([GraphAttentionLayer(nfeat, nhid) for _ in range(nheads)])
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, concat=False)

    def forward(self, x, adj):
        x = torch.cat([att(x, adj) for att in self.heads], dim=-1)
        return F.log_softmax(self.out_att(x, adj), dim=-1)


def random_molecules(n, n_atoms=12, n_kinds=4, seed=0):
    """ring-like graphs; an atom is active if two of its neighbours are of kind 0"""
    g = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, n_kinds, (n, n_atoms), generator=g)
    adj = torch.zeros(n, n_atoms, n_atoms)
    ring = torch.arange(n_atoms)
    adj[:, ring, (ring + 1) % n_atoms] = 1
    extra = torch.rand(n, n_atoms, n_atoms, generator=g) < 0.06
    adj[extra] = 1
    adj = ((adj + adj.transpose(1, 2)) > 0).float()
    adj[:, ring, ring] = 0
    is_zero = (kinds == 0).float()
    active = (torch.bmm(adj, is_zero.unsqueeze(-1)).squeeze(-1) >= 1).long()
    adj[:, ring, ring] = 1
    return F.one_hot(kinds, n_kinds).float(), adj, active


def run_batch(model, features, adj, labels):
    output = model(features.flatten(0, 1), torch.block_diag(*adj))
    loss = F.nll_loss(output.flatten(0, -2), labels.flatten())
    hits = (output.argmax(-1).flatten() == labels.flatten()).float().mean()
    return loss, hits.item()


def main():
    torch.manual_seed(72)
    features, adj, labels = random_molecules(320, seed=1)
    val = random_molecules(64, seed=2)

    model = GAT(nfeat=features.size(-1), nhid=8, nclass=2, nheads=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(12):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(features)).split(16):
            loss, _ = run_batch(model, features[idx], adj[idx], labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            _, acc = run_batch(model, *val)
        if epoch % 3 == 2:
            print('epoch %2d loss %.4f val acc %.3f' % (epoch + 1, total / len(features), acc))


if __name__ == '__main__':
    main()
