import numpy as np
import torch as T


class PeopleDataset(T.utils.data.Dataset):
    # columns: sex, age, three for the state, income, three for politics
    def __init__(self, all_data):
        self.x_data = T.tensor(all_data[:, 1:9], dtype=T.float32)
        self.y_data = T.tensor(all_data[:, 0], dtype=T.float32)
        self.y_data = self.y_data.reshape(-1, 1)

    def __len__(self):
        return len(self.x_data)

    def __getitem__(self, idx):
        return self.x_data[idx], self.y_data[idx]


class Net(T.nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.hid1 = T.nn.Linear(8, 10)
        self.hid2 = T.nn.Linear(10, 10)
        self.oupt = T.nn.Linear(10, 1)
        T.nn.init.xavier_uniform_(self.hid1.weight)
        T.nn.init.zeros_(self.hid1.bias)

    def forward(self, x):
        z = T.tanh(self.hid1(x))
        z = T.tanh(self.hid2(z))
        return T.sigmoid(self.oupt(z))


def make_people(n, seed=1):
    rng = np.random.RandomState(seed)
    state = np.eye(3)[rng.randint(0, 3, n)]
    politics = np.eye(3)[rng.randint(0, 3, n)]
    sex = rng.randint(0, 2, n)
    return np.column_stack([sex, rng.rand(n), state, rng.rand(n), politics]).astype(np.float32)


def main():
    T.manual_seed(1)
    train_ds = PeopleDataset(make_people(120))
    train_ldr = T.utils.data.DataLoader(train_ds, batch_size=10, shuffle=True)
    net = Net()
    net.train()
    loss_func = T.nn.BCELoss()
    optimizer = T.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        epoch_loss = 0.0
        for (X, y) in train_ldr:
            optimizer.zero_grad()
            oupt = net(X)
            loss_val = loss_func(oupt, y)
            epoch_loss += loss_val.item()
            loss_val.backward()
            optimizer.step()
        print("epoch = %4d  loss = %8.4f" % (epoch, epoch_loss))


if __name__ == "__main__":
    main()
