from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score


def build_tissue(side=14, genes=60, morph=20):
    rng = np.random.RandomState(2)
    xy = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
    layer = np.digitize(xy[:, 1] + 2 * np.sin(xy[:, 0] / 3.0), [4, 8, 11])
    expr = rng.normal(size=(4, genes))[layer] + 1.5 * rng.normal(size=(len(xy), genes))
    img = rng.normal(size=(4, morph))[layer] + 1.5 * rng.normal(size=(len(xy), morph))
    dist = np.abs(xy[:, None] - xy[None]).sum(-1)
    adj = (dist <= 1).astype(np.float32)
    deg = adj.sum(1)
    adj_norm = adj / np.sqrt(deg[:, None] * deg[None])
    return expr.astype(np.float32), img.astype(np.float32), adj, adj_norm.astype(np.float32), layer


class SpotEncoder(nn.Module):
    def __init__(self, gene_dim, img_dim, params, use_img):
        super().__init__()
        self.use_img = use_img
        self.temperature = params.temperature
        h, z = params.hidden, params.latent
        self.enc_gene = nn.Sequential(nn.Linear(gene_dim, h), nn.ELU(), nn.Linear(h, z))
        self.dec_gene = nn.Linear(2 * z, gene_dim)
        if use_img:
            self.enc_img = nn.Sequential(nn.Linear(img_dim, h), nn.ELU(), nn.Linear(h, z))
            self.dec_img = nn.Linear(2 * z, img_dim)
        self.gc = nn.Linear(2 * z if use_img else z, z)
        self.head = nn.Sequential(nn.Linear(2 * z, z), nn.ELU(), nn.Linear(z, z))

    def forward(self, x, adj, img=None):
        feat = self.enc_gene(x)
        spot = torch.cat([feat, self.enc_img(img)], dim=1) if self.use_img else feat
        graph = adj @ self.gc(spot)
        latent = torch.cat([feat, graph], dim=1)
        if self.use_img:
            return latent, self.dec_gene(latent), self.dec_img(latent)
        return latent, self.dec_gene(latent)

    def projection(self, z):
        return self.head(z)

    def l2l_loss(self, a, b):
        a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
        sim = a @ b.t() / self.temperature
        target = torch.arange(len(a), device=a.device)
        return 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target))


def drop_columns(x, p):
    keep = (torch.rand(x.size(1), device=x.device) >= p).float()
    return x * keep


def drop_edges(adj, p):
    keep = torch.triu((torch.rand_like(adj) >= p).float(), diagonal=1)
    return adj * (keep + keep.t() + torch.eye(len(adj)))


class Trainer:
    def __init__(self, expr, adj, adj_norm, params, img=None):
        self.params = params
        self.x = torch.from_numpy(expr)
        self.adj, self.adj_norm = torch.from_numpy(adj), torch.from_numpy(adj_norm)
        self.use_img = img is not None
        self.img = torch.from_numpy(img) if self.use_img else None
        img_dim = img.shape[1] if self.use_img else 0
        self.model = SpotEncoder(expr.shape[1], img_dim, params, self.use_img)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=params.lr)

    def reconstruction(self, out):
        z = out[0]
        loss = F.mse_loss(out[1], self.x) + 0.1 * F.binary_cross_entropy_with_logits(z @ z.t(), self.adj)
        if self.use_img:
            loss = loss + self.params.img_w * F.mse_loss(out[2], self.img)
        return loss

    def pretrain(self):
        self.model.train()
        for epoch in range(self.params.pre_epochs):
            loss = self.reconstruction(self.model(self.x, self.adj_norm, self.img))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        print('pretraining finished, loss %.4f' % loss.item())

    def major_train(self):
        p = self.params
        for epoch in range(p.epochs):
            adj1, adj2 = drop_edges(self.adj_norm, p.edge_drop), drop_edges(self.adj_norm, p.edge_drop)
            x1, x2 = drop_columns(self.x, p.node_drop), drop_columns(self.x, p.node_drop)
            if not self.use_img:
                z1, z2 = self.model(x1, adj1)[0], self.model(x2, adj2)[0]
                loss_cont = self.model.l2l_loss(self.model.projection(z1), self.model.projection(z2))
            else:
                i1, i2 = drop_columns(self.img, p.node_drop), drop_columns(self.img, p.node_drop)
                z1, z2 = self.model(x1, adj1, i1)[0], self.model(x2, adj2, i2)[0]
                loss_cont = self.model.contrastive_loss(self.model.projection(z1), self.model.projection(z2))
            loss = self.reconstruction(self.model(self.x, self.adj_norm, self.img)) + p.cont_w * loss_cont
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if epoch % 10 == 0:
                print('epoch %d loss %.4f contrast %.4f' % (epoch, loss.item(), loss_cont.item()))

    @torch.no_grad()
    def embedding(self):
        self.model.eval()
        return self.model(self.x, self.adj_norm, self.img)[0].numpy()


if __name__ == '__main__':
    torch.manual_seed(0)
    params = SimpleNamespace(hidden=48, latent=12, temperature=0.5, lr=5e-3, pre_epochs=40, epochs=30,
                             edge_drop=0.2, node_drop=0.2, cont_w=0.3, img_w=0.2)
    expr, img, adj, adj_norm, layer = build_tissue()
    trainer = Trainer(expr, adj, adj_norm, params, img=img)
    trainer.pretrain()
    trainer.major_train()
    found = KMeans(4, n_init=10, random_state=0).fit_predict(trainer.embedding())
    print('ARI %.3f' % adjusted_rand_score(layer, found))
