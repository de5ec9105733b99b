import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn


def parse_args(script_dir):
    parser = argparse.ArgumentParser(description='few-shot script')
    parser.add_argument('--method', default='baseline', choices=['baseline', 'protonet'])
    parser.add_argument('--num_classes', default=20, type=int)
    parser.add_argument('--train_n_way', default=5, type=int)
    parser.add_argument('--n_shot', default=5, type=int)
    parser.add_argument('--n_query', default=10, type=int)
    parser.add_argument('--stop_epoch', default=4, type=int)
    parser.add_argument('--checkpoint_dir', default=script_dir)
    return parser.parse_args()


def conv_block(indim, outdim):
    return nn.Sequential(nn.Conv2d(indim, outdim, 3, padding=1), nn.BatchNorm2d(outdim), nn.ReLU(), nn.MaxPool2d(2))


class Conv4(nn.Module):
    def __init__(self):
        super(Conv4, self).__init__()
        self.trunk = nn.Sequential(conv_block(3, 32), conv_block(32, 32), conv_block(32, 32), nn.Flatten())
        self.final_feat_dim = 32 * 4 * 4

    def forward(self, x):
        return self.trunk(x)


class BaselineTrain(nn.Module):
    def __init__(self, model_func, num_class):
        super(BaselineTrain, self).__init__()
        self.feature = model_func()
        self.classifier = nn.Linear(self.feature.final_feat_dim, num_class)
        self.classifier.bias.data.fill_(0)

    def forward(self, x):
        return self.classifier(self.feature(x))


class BaselineFinetune(nn.Module):
    def __init__(self, model_func, n_way, n_support):
        super(BaselineFinetune, self).__init__()
        self.feature = model_func()
        self.n_way, self.n_support = n_way, n_support

    def set_forward(self, z_support, z_query):
        y_support = torch.arange(self.n_way).repeat_interleave(self.n_support)
        linear_clf = nn.Linear(z_support.shape[-1], self.n_way)
        opt = torch.optim.SGD(linear_clf.parameters(), lr=0.01, momentum=0.9, dampening=0.9, weight_decay=0.001)
        z_support = z_support.reshape(self.n_way * self.n_support, -1)
        for _ in range(30):
            perm = torch.randperm(len(z_support))
            for i in range(0, len(perm), 4):
                sel = perm[i:i + 4]
                opt.zero_grad()
                nn.functional.cross_entropy(linear_clf(z_support[sel]), y_support[sel]).backward()
                opt.step()
        return linear_clf(z_query.reshape(self.n_way * z_query.shape[1], -1))


def make_images(prototypes, per_class):
    x = prototypes.repeat_interleave(per_class, 0)
    x = x + 0.7 * torch.randn_like(x)
    y = torch.arange(len(prototypes)).repeat_interleave(per_class)
    return x, y


def train(args, x, y):
    model = BaselineTrain(Conv4, args.num_classes)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(args.stop_epoch):
        for sel in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[sel]), y[sel])
            loss.backward()
            optimizer.step()
        print('Epoch {:d} | Loss {:f}'.format(epoch, loss.item()))
    torch.save({'epoch': epoch, 'state': model.state_dict()}, os.path.join(args.checkpoint_dir, 'best_model.tar'))


def test(args, novel):
    model = BaselineFinetune(Conv4, args.train_n_way, args.n_shot)
    tmp = torch.load(os.path.join(args.checkpoint_dir, 'best_model.tar'))
    state = tmp['state']
    model.load_state_dict(state)
    model.eval()

    acc_all = []
    for i in range(10):
        ways = torch.randperm(len(novel))[:args.train_n_way]
        x, _ = make_images(novel[ways], args.n_shot + args.n_query)
        with torch.no_grad():
            z = model.feature(x).view(args.train_n_way, args.n_shot + args.n_query, -1)
        scores = model.set_forward(z[:, :args.n_shot], z[:, args.n_shot:])
        y_query = np.repeat(range(args.train_n_way), args.n_query)
        acc_all.append(100 * np.mean(scores.argmax(1).numpy() == y_query))
    print('10 Test Acc = %4.2f%% +- %4.2f%%' % (np.mean(acc_all), 1.96 * np.std(acc_all) / np.sqrt(10)))


if __name__ == '__main__':
    torch.manual_seed(10)
    with tempfile.TemporaryDirectory() as d:
        params = parse_args(d)
        base, novel = torch.randn(params.num_classes, 3, 32, 32), torch.randn(8, 3, 32, 32)
        train(params, *make_images(base, 20))
        test(params, novel)
