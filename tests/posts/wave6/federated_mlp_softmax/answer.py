import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self, dim_in, dim_hidden, dim_out):
        super(MLP, self).__init__()
        self.layer_input = nn.Linear(dim_in, dim_hidden)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout()
        self.layer_hidden = nn.Linear(dim_hidden, dim_out)

    def forward(self, x):
        x = x.view(-1, x.shape[1] * x.shape[-2] * x.shape[-1])
        x = self.layer_input(x)
        x = self.dropout(x)
        x = self.relu(x)
        x = self.layer_hidden(x)
        return x


class LocalUpdate(object):
    def __init__(self, dataset, idxs, local_bs=10, local_ep=2, lr=0.05):
        self.loss_func = nn.CrossEntropyLoss()
        self.ldr_train = DataLoader(Subset(dataset, idxs), batch_size=local_bs, shuffle=True)
        self.local_ep, self.lr = local_ep, lr

    def train(self, net):
        net.train()
        optimizer = torch.optim.SGD(net.parameters(), lr=self.lr, momentum=0.5)
        epoch_loss = []
        for _ in range(self.local_ep):
            batch_loss = []
            for images, labels in self.ldr_train:
                net.zero_grad()
                log_probs = net(images)
                loss = self.loss_func(log_probs, labels)
                loss.backward()
                optimizer.step()
                batch_loss.append(loss.item())
            epoch_loss.append(sum(batch_loss) / len(batch_loss))
        return net.state_dict(), sum(epoch_loss) / len(epoch_loss)


def FedAvg(w):
    w_avg = copy.deepcopy(w[0])
    for k in w_avg.keys():
        for i in range(1, len(w)):
            w_avg[k] += w[i][k]
        w_avg[k] = torch.div(w_avg[k], len(w))
    return w_avg


def make_digits(n):
    labels = torch.randint(0, 10, (n,))
    prototypes = torch.rand(10, 1, 14, 14, generator=torch.Generator().manual_seed(1))
    return TensorDataset(prototypes[labels] + 0.3 * torch.randn(n, 1, 14, 14), labels)


num_users = 5
dataset_train, dataset_test = make_digits(500), make_digits(200)
dict_users = [list(range(u, 500, num_users)) for u in range(num_users)]
net_glob = MLP(dim_in=196, dim_hidden=64, dim_out=10)

for round_ in range(4):
    w_locals, loss_locals = [], []
    for user in range(num_users):
        local = LocalUpdate(dataset_train, dict_users[user])
        w, loss = local.train(copy.deepcopy(net_glob))
        w_locals.append(copy.deepcopy(w))
        loss_locals.append(loss)
    net_glob.load_state_dict(FedAvg(w_locals))
    print("Round {:3d}, Average loss {:.3f}".format(round_, sum(loss_locals) / len(loss_locals)))

net_glob.eval()
with torch.no_grad():
    images, labels = dataset_test.tensors
    acc = (net_glob(images).argmax(dim=1) == labels).float().mean()
print("Testing accuracy: {:.2f}".format(100 * acc.item()))
