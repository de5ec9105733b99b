import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class nconv(nn.Module):
    def forward(self, x, A):
        x = torch.einsum('ncvl,wv->ncwl', (x, A))
        return x.contiguous()


class mixprop(nn.Module):
    def __init__(self, c_in, c_out, gdep, alpha):
        super().__init__()
        self.nconv = nconv()
        self.mlp = nn.Conv2d((gdep + 1) * c_in, c_out, kernel_size=(1, 1))
        self.gdep = gdep
        self.alpha = alpha

    def forward(self, x, adj):
        adj = adj + torch.eye(adj.size(0))
        d = adj.sum(1)
        h = x
        out = [h]
        a = adj / d.view(-1, 1)
        for i in range(self.gdep):
            h = self.alpha * x + (1 - self.alpha) * self.nconv(h, a)
            out.append(h)
        return self.mlp(torch.cat(out, dim=1))


class graph_constructor(nn.Module):
    def __init__(self, nnodes, k, dim, alpha=3):
        super().__init__()
        self.emb1 = nn.Embedding(nnodes, dim)
        self.emb2 = nn.Embedding(nnodes, dim)
        self.lin1 = nn.Linear(dim, dim)
        self.lin2 = nn.Linear(dim, dim)
        self.k, self.alpha = k, alpha

    def forward(self, idx):
        v1 = torch.tanh(self.alpha * self.lin1(self.emb1(idx)))
        v2 = torch.tanh(self.alpha * self.lin2(self.emb2(idx)))
        a = torch.mm(v1, v2.t()) - torch.mm(v2, v1.t())
        adj = F.relu(torch.tanh(self.alpha * a))
        mask = torch.zeros(idx.size(0), idx.size(0))
        s1, t1 = adj.topk(self.k, 1)
        mask.scatter_(1, t1, s1.detach().fill_(1))
        return adj * mask


class GTNet(nn.Module):
    def __init__(self, num_nodes, seq_in=12, seq_out=12, channels=16, layers=2):
        super().__init__()
        self.idx = torch.arange(num_nodes)
        self.gc = graph_constructor(num_nodes, 8, 20)
        self.start_conv = nn.Conv2d(1, channels, kernel_size=(1, 1))
        self.filter_convs = nn.ModuleList([nn.Conv2d(channels, channels, (1, 3), padding=(0, 1)) for _ in range(layers)])
        self.gate_convs = nn.ModuleList([nn.Conv2d(channels, channels, (1, 3), padding=(0, 1)) for _ in range(layers)])
        self.gconv1 = nn.ModuleList([mixprop(channels, channels, 2, 0.05) for _ in range(layers)])
        self.gconv2 = nn.ModuleList([mixprop(channels, channels, 2, 0.05) for _ in range(layers)])
        self.end_conv = nn.Conv2d(channels, seq_out, kernel_size=(1, seq_in))

    def forward(self, input):
        adp = self.gc(self.idx)
        x = self.start_conv(input)
        for f, g, g1, g2 in zip(self.filter_convs, self.gate_convs, self.gconv1, self.gconv2):
            residual = x
            x = torch.tanh(f(x)) * torch.sigmoid(g(x))
            x = g1(x, adp) + g2(x, adp.transpose(1, 0))
            x = x + residual
        return self.end_conv(F.relu(x))


num_nodes = 40
speeds = torch.randn(64, 1, num_nodes, 12)
future = torch.randn(64, 12, num_nodes, 1)
loader = DataLoader(TensorDataset(speeds, future), batch_size=16, shuffle=True)
model = GTNet(num_nodes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=0.0001)
for epoch in range(2):
    model.train()
    train_loss = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.l1_loss(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        train_loss.append(loss.item())
    print('Epoch {:03d} MAE {:.4f}'.format(epoch, sum(train_loss) / len(train_loss)))
