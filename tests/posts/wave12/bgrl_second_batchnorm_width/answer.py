import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, nargs="+", default=[512, 256], help="hidden sizes of the graph network")
    parser.add_argument("--pred_hid", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--drop", type=float, nargs=4, default=[0.2, 0.1, 0.2, 0.3])
    parser.add_argument("--decay", type=float, default=0.99)
    return parser.parse_known_args()


def planted_graph(n=300, n_feat=96, n_class=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_class, n)
    x = rng.normal(size=(n_class, n_feat))[y] + rng.normal(scale=2.0, size=(n, n_feat))
    same = y[:, None] == y[None, :]
    a = rng.random((n, n)) < np.where(same, 0.04, 0.004)
    row, col = np.nonzero(np.triu(a, 1))
    edges = np.stack([np.concatenate([row, col]), np.concatenate([col, row])])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(edges), torch.tensor(y)


class GraphConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout, bias=False)
        self.bias = nn.Parameter(torch.zeros(cout))

    def forward(self, x, edge_index):
        n = x.shape[0]
        loops = torch.arange(n).repeat(2, 1)
        row, col = torch.cat([edge_index, loops], dim=1)
        deg = torch.zeros(n).index_add_(0, row, torch.ones(row.shape[0]))
        norm = deg[row].rsqrt() * deg[col].rsqrt()
        h = self.lin(x)
        return torch.zeros_like(h).index_add(0, row, norm[:, None] * h[col]) + self.bias


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.gcn_in = GraphConv(sizes[0], sizes[1])
        self.norm_in = nn.BatchNorm1d(sizes[1], momentum=0.01)
        self.act_in = nn.PReLU()
        self.gcn_out = GraphConv(sizes[1], sizes[2])
        self.norm_out = nn.BatchNorm1d(sizes[2], momentum=0.01)
        self.act_out = nn.PReLU()

    def forward(self, x, edge_index):
        x = self.act_in(self.norm_in(self.gcn_in(x, edge_index)))
        x = self.act_out(self.norm_out(self.gcn_out(x, edge_index)))
        return x


class BGRL(nn.Module):
    def __init__(self, sizes, pred_hid, decay):
        super().__init__()
        self.student = Encoder(sizes)
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.requires_grad = False
        self.decay = decay
        rep = sizes[-1]
        self.predictor = nn.Sequential(nn.Linear(rep, pred_hid), nn.PReLU(), nn.Linear(pred_hid, rep))

    @torch.no_grad()
    def update_teacher(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.decay).add_(s, alpha=1 - self.decay)

    def forward(self, x1, x2, e1, e2):
        s1, s2 = self.student(x1, e1), self.student(x2, e2)
        with torch.no_grad():
            t1, t2 = self.teacher(x1, e1), self.teacher(x2, e2)
        l1 = 2 - 2 * F.cosine_similarity(self.predictor(s1), t2, dim=-1)
        l2 = 2 - 2 * F.cosine_similarity(self.predictor(s2), t1, dim=-1)
        return s1, (l1 + l2).mean()


def augment(x, edge_index, p_feat, p_edge):
    keep = torch.rand(x.shape[1]) > p_feat
    edges = torch.rand(edge_index.shape[1]) > p_edge
    return x * keep, edge_index[:, edges]


class Run:
    def __init__(self, args):
        self.args = args
        self.x, self.edge_index, self.y = planted_graph()
        layers = [self.x.shape[1]] + args.layers
        self.model = BGRL(layers, args.pred_hid, args.decay)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-5)

    def train(self):
        f1, f2, e1, e2 = self.args.drop
        for epoch in range(self.args.epochs):
            self.model.train()
            x1, edge1 = augment(self.x, self.edge_index, f1, e1)
            x2, edge2 = augment(self.x, self.edge_index, f2, e2)
            _, loss = self.model(x1, x2, edge1, edge2)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.model.update_teacher()
            print(f"epoch {epoch + 1} loss {loss.item():.4f}")

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            rep = self.model.student(self.x, self.edge_index)
        clf = nn.Linear(rep.shape[1], 4)
        opt = torch.optim.Adam(clf.parameters(), lr=0.01)
        for _ in range(50):
            opt.zero_grad()
            F.cross_entropy(clf(rep[:200]), self.y[:200]).backward()
            opt.step()
        acc = (clf(rep[200:]).argmax(1) == self.y[200:]).float().mean()
        print("linear probe accuracy", acc.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    args, _ = parse_args()
    trainer = Run(args)
    trainer.train()
    trainer.evaluate()
