import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEQ_LEN = 100
BATCH_SIZE = 32
device = "cuda" if torch.cuda.is_available() else "cpu"


class NovelDataset(Dataset):
    """pairs of 100 words: the text, and the text one word later"""

    def __init__(self, vocab_size=12778, n_words=4000, seed=42):
        g = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, vocab_size, (n_words,), generator=g)

    def __len__(self):
        return len(self.words) - SEQ_LEN - 1

    def __getitem__(self, n):
        return self.words[n:n + SEQ_LEN], self.words[n + 1:n + SEQ_LEN + 1]


class WordLSTM(nn.Module):
    def __init__(self, input_size=128, n_embed=128, n_layers=3, drop_prob=0.2, vocab_size=12778):
        super().__init__()
        self.n_layers, self.n_embed = n_layers, n_embed
        self.embedding = nn.Embedding(vocab_size, n_embed)
        self.lstm = nn.LSTM(input_size=input_size, hidden_size=n_embed, num_layers=n_layers,
                            dropout=drop_prob, batch_first=True)
        self.fc = nn.Linear(input_size, vocab_size)

    def forward(self, x, hc):
        embed = self.embedding(x)
        x, hc = self.lstm(embed, hc)
        x = self.fc(x)
        return x, hc

    def init_hidden(self, n_seqs):
        weight = next(self.parameters()).data
        return (weight.new_zeros(self.n_layers, n_seqs, self.n_embed),
                weight.new_zeros(self.n_layers, n_seqs, self.n_embed))


torch.manual_seed(42)
loader = DataLoader(NovelDataset(), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
model = WordLSTM().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001)
loss_func = nn.CrossEntropyLoss()

model.train()
for epoch in range(1):
    tloss = 0
    sh, sc = model.init_hidden(BATCH_SIZE)
    for i, (x, y) in enumerate(loader):
        inputs, targets = x.to(device), y.to(device)
        optimizer.zero_grad()
        output, (sh, sc) = model(inputs, (sh, sc))
        # output: (32, 100, 12778), targets: (32, 100)
        loss = loss_func(output, targets)
        sh, sc = sh.detach(), sc.detach()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        tloss += loss.item()
        if i == 1:
            break
    print(f"at epoch {epoch} average loss is {tloss / (i + 1)}")
