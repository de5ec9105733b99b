import numpy as np
import torch as th
import torch.nn.functional as F


class config:
    WORD_VEC_SIZE = 50
    VOCAB_SIZE = 300
    SENT_LEN = 24
    NUM_CLASS = 2
    BATCH_SIZE = 32
    EPOCH = 2


class Net(th.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.embed = th.nn.Embedding(config.VOCAB_SIZE, config.WORD_VEC_SIZE)
        self.conv1d = [
            th.nn.Conv1d(config.WORD_VEC_SIZE, 16, 3),
            th.nn.Conv1d(config.WORD_VEC_SIZE, 16, 4),
            th.nn.Conv1d(config.WORD_VEC_SIZE, 16, 5)
        ]
        self.dropout = th.nn.Dropout(0.5)
        self.linear = th.nn.Linear(16 * 3, config.NUM_CLASS)

    def forward(self, sent):
        x = self.embed(sent).transpose(1, 2)
        feats = []
        for conv in self.conv1d:
            h = F.relu(conv(x))
            feats.append(F.max_pool1d(h, h.size(2)).squeeze(2))
        return self.linear(self.dropout(th.cat(feats, 1)))


def gen_data(n):
    sents = np.random.randint(10, config.VOCAB_SIZE, (n, config.SENT_LEN))
    labels = np.random.randint(0, 2, n)
    for i in range(n):
        pos = np.random.randint(0, config.SENT_LEN - 2)
        sents[i, pos:pos + 2] = [labels[i] + 1, labels[i] + 3]
    return sents, labels


def train():
    np.random.seed(0)
    sents, labels = gen_data(640)
    net = Net()
    net.cuda()
    optimizer = th.optim.Adam(net.parameters(), lr=1e-3)
    criterion = th.nn.CrossEntropyLoss()
    for epoch in range(config.EPOCH):
        correct = 0
        for i in range(0, len(sents), config.BATCH_SIZE):
            x = th.from_numpy(sents[i:i + config.BATCH_SIZE]).long().cuda()
            y = th.from_numpy(labels[i:i + config.BATCH_SIZE]).long().cuda()
            optimizer.zero_grad()
            out = net(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            correct += (out.max(1)[1] == y).sum().item()
        print('epoch %d loss %.4f acc %.3f' % (epoch, loss.item(), correct / float(len(sents))))


if __name__ == '__main__':
    train()
