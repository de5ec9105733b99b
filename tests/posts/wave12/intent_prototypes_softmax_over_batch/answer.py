import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, SequentialSampler, TensorDataset
from transformers import BertConfig, BertModel


def init_args():
    parser = argparse.ArgumentParser()
    parser.add_argument('--feat_dim', type=int, default=64)
    parser.add_argument('--n_intents', type=int, default=8)
    parser.add_argument('--n_known', type=int, default=5)
    parser.add_argument('--temperature', type=float, default=0.5)
    parser.add_argument('--gamma', type=float, default=1.0)
    parser.add_argument('--lr', type=float, default=3e-4)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--batch_size', type=int, default=32)
    return parser.parse_args([])


class IntentBert(nn.Module):
    def __init__(self, args, vocab_size=300):
        super(IntentBert, self).__init__()
        config = BertConfig(vocab_size=vocab_size, hidden_size=args.feat_dim, num_hidden_layers=2,
                            num_attention_heads=4, intermediate_size=128, max_position_embeddings=40)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.dense = nn.Linear(args.feat_dim, args.feat_dim)
        self.activation = nn.ReLU()
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(args.feat_dim, args.n_known)

    def forward(self, input_ids, attention_mask, mode=None, labels=None):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).float()
        feature = (hidden * weight).sum(1) / weight.sum(1)
        feature = self.dropout(self.activation(self.dense(feature)))
        if mode == 'feature_extract':
            return feature
        return F.cross_entropy(self.classifier(feature), labels)


def kmeans(x, start, n_iter=20):
    centers = start.clone()
    for _ in range(n_iter):
        cluster = torch.cdist(x, centers).argmin(dim=1)
        for j in range(len(centers)):
            if (cluster == j).any():
                centers[j] = x[cluster == j].mean(dim=0)
    return centers


def make_utterances(args, n=256, seq_len=24, vocab_size=300):
    rng = np.random.RandomState(0)
    y = rng.randint(0, args.n_intents, n)
    lengths = rng.randint(8, seq_len + 1, n)
    ids = rng.randint(1, vocab_size, (n, seq_len))
    typical = rng.randint(1, vocab_size, (args.n_intents, 10))
    for i in range(n):
        where = rng.rand(seq_len) < 0.5
        ids[i, where] = rng.choice(typical[y[i]], where.sum())
    mask = (np.arange(seq_len)[None] < lengths[:, None]).astype('int64')
    return torch.tensor(ids * mask), torch.tensor(mask), torch.tensor(y)


class Manager:
    def __init__(self, args):
        self.device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
        ids, mask, y = make_utterances(args)
        labeled = y < args.n_known
        labeled[128:] = False
        data = TensorDataset(ids, mask)
        self.semi_loader = DataLoader(data, sampler=SequentialSampler(data), batch_size=args.batch_size)
        self.labeled_loader = DataLoader(TensorDataset(ids[labeled], mask[labeled], y[labeled]),
                                         shuffle=True, batch_size=args.batch_size)
        self.model = IntentBert(args).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.01)

    def features(self):
        self.model.eval()
        total = []
        with torch.no_grad():
            for ids, mask in self.semi_loader:
                total.append(self.model(ids.to(self.device), mask.to(self.device), mode='feature_extract'))
        return torch.cat(total)

    def sq_distances(self, a, b):
        return a.pow(2).sum(1, keepdim=True) + b.pow(2).sum(1) - 2 * a @ b.t()

    def train(self, args):
        feats = self.features()
        protos = kmeans(feats, feats[torch.randperm(len(feats))[:args.n_intents]])
        print('prototypes', tuple(protos.shape))
        for epoch in range(1, args.epochs + 1):
            self.model.train()
            tr_loss, steps = 0, 0
            labeled_iter = iter(self.labeled_loader)
            for ids, mask in self.semi_loader:
                pooled = self.model(ids.to(self.device), mask.to(self.device), mode='feature_extract')
                sim = torch.matmul(pooled, protos.t()) / args.temperature
                assign = F.softmax(sim, dim=1)
                loss_pro = (assign * self.sq_distances(pooled, protos)).mean()

                try:
                    batch = next(labeled_iter)
                except StopIteration:
                    labeled_iter = iter(self.labeled_loader)
                    batch = next(labeled_iter)
                l_ids, l_mask, l_y = (t.to(self.device) for t in batch)
                loss_ce = self.model(l_ids, l_mask, mode='train', labels=l_y)

                loss = loss_ce + args.gamma * loss_pro
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                tr_loss += loss.item()
                steps += 1
            print('Epoch %d loss: %.4f' % (epoch, tr_loss / steps))
            protos = 0.9 * protos + 0.1 * kmeans(self.features(), protos)


if __name__ == '__main__':
    torch.manual_seed(0)
    args = init_args()
    manager = Manager(args)
    manager.train(args)
