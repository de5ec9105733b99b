import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import Dataset, DataLoader


class CLEVRLike(Dataset):
    def __init__(self, n=48, n_vocab=90, n_answers=28):
        g = torch.Generator().manual_seed(0)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(5, 30, (1,), generator=g))
            question = torch.randint(1, n_vocab, (length,), generator=g)
            feature = torch.randn(128, 7, 7, generator=g)
            answer = int(torch.randint(0, n_answers, (1,), generator=g))
            self.items.append((feature, question, length, answer))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate_data(batch):
    batch = sorted(batch, key=lambda b: b[2], reverse=True)
    max_len = batch[0][2]
    questions = torch.zeros(len(batch), max_len, dtype=torch.long)
    for i, (_, question, length, _) in enumerate(batch):
        questions[i, :length] = question
    images, _, lengths, answers = zip(*batch)
    return torch.stack(images), questions, torch.tensor(lengths), torch.tensor(answers)


class ControlUnit(nn.Module):
    def __init__(self, dim, max_step):
        super().__init__()
        self.position_aware = nn.ModuleList([nn.Linear(dim * 2, dim) for _ in range(max_step)])
        self.control_question = nn.Linear(dim * 2, dim)
        self.attn = nn.Linear(dim, 1)

    def forward(self, step, context, question, control):
        position_aware = self.position_aware[step](question)
        control_question = self.control_question(torch.cat([control, position_aware], 1))
        control_question = control_question.unsqueeze(1)
        attn_weight = self.attn(control_question * context)
        attn = F.softmax(attn_weight, 1)
        return (attn * context).sum(1)


class ReadUnit(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mem = nn.Linear(dim, dim)
        self.concat = nn.Linear(dim * 2, dim)
        self.attn = nn.Linear(dim, 1)

    def forward(self, memory, know, control):
        mem = self.mem(memory).unsqueeze(2)
        concat = self.concat(torch.cat([mem * know, know], 1).permute(0, 2, 1))
        attn = self.attn(concat * control.unsqueeze(1)).squeeze(2)
        attn = F.softmax(attn, 1).unsqueeze(1)
        return (attn * know).sum(2)


class MACNetwork(nn.Module):
    def __init__(self, n_vocab, dim=64, embed=48, max_step=4, classes=28):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(128, dim, 3, padding=1), nn.ELU(),
                                  nn.Conv2d(dim, dim, 3, padding=1), nn.ELU())
        self.embed = nn.Embedding(n_vocab, embed)
        self.lstm = nn.LSTM(embed, dim, batch_first=True, bidirectional=True)
        self.lstm_proj = nn.Linear(dim * 2, dim)
        self.control = ControlUnit(dim, max_step)
        self.read = ReadUnit(dim)
        self.write = nn.Linear(dim * 2, dim)
        self.mem_0 = nn.Parameter(torch.zeros(1, dim))
        self.control_0 = nn.Parameter(torch.zeros(1, dim))
        self.classifier = nn.Sequential(nn.Linear(dim * 3, dim), nn.ELU(), nn.Linear(dim, classes))
        self.max_step = max_step

    def forward(self, image, question, question_len):
        b = question.size(0)
        know = self.conv(image).flatten(2)
        packed = pack_padded_sequence(self.embed(question), question_len, batch_first=True)
        lstm_out, (h, _) = self.lstm(packed)
        lstm_out, _ = pad_packed_sequence(lstm_out, batch_first=True)
        lstm_out = self.lstm_proj(lstm_out)
        h = h.permute(1, 0, 2).reshape(b, -1)
        control, memory = self.control_0.expand(b, -1), self.mem_0.expand(b, -1)
        for i in range(self.max_step):
            control = self.control(i, lstm_out, h, control)
            read = self.read(memory, know, control)
            memory = self.write(torch.cat([read, memory], 1))
        return self.classifier(torch.cat([memory, h], 1))


train_set = DataLoader(CLEVRLike(), batch_size=8, shuffle=True, collate_fn=collate_data)
net = MACNetwork(90)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
for epoch in range(2):
    for image, question, q_len, answer in train_set:
        net.zero_grad()
        output = net(image, question, q_len)
        loss = criterion(output, answer)
        loss.backward()
        optimizer.step()
    print('Epoch: {}; Loss: {:.5f}'.format(epoch + 1, loss.item()))
