import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class TweetsWithImages(Dataset):
    def __init__(self, n=75, length=16, vocab=300, tags=9):
        g = torch.Generator().manual_seed(2)
        self.tokens = torch.randint(1, vocab, (n, length), generator=g)
        self.image = torch.rand(n, 3, 32, 32, generator=g)
        self.tags = self.tokens % tags

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.image[i], self.tags[i]


class HMNeTNERModel(nn.Module):
    def __init__(self, vocab=300, tags=9, dim=64):
        super().__init__()
        self.bert = nn.ModuleDict({
            'word_embeddings': nn.Embedding(vocab, dim),
            'encoder': nn.TransformerEncoderLayer(dim, 4, 128, batch_first=True)})
        self.image_model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.encoder_conv = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, dim), nn.Tanh())
        self.gates = nn.Linear(dim, dim)
        self.crf_transitions = nn.Parameter(torch.zeros(tags, tags))
        self.fc = nn.Linear(dim, tags)

    def forward(self, tokens, image):
        visual = self.encoder_conv(self.image_model(image))
        words = self.bert['word_embeddings'](tokens)
        words = words + torch.sigmoid(self.gates(words)) * visual.unsqueeze(1)
        emissions = self.fc(self.bert['encoder'](words))
        previous = emissions.softmax(-1)[:, :-1] @ self.crf_transitions
        return emissions + F.pad(previous, (0, 0, 1, 0))


class NERTrainer(object):
    def __init__(self, model, train_data, lr=3e-3, num_epochs=3):
        self.model, self.train_data, self.lr, self.num_epochs = model, train_data, lr, num_epochs
        self.multiModal_before_train()

    def multiModal_before_train(self):
        parameters = []
        params = {'lr': self.lr, 'weight_decay': 1e-2, 'params': []}
        for name, param in self.model.named_parameters():
            if 'bert' in name:
                params['params'].append(param)
        parameters.append(params)

        params = {'lr': self.lr, 'weight_decay': 1e-2, 'params': []}
        for name, param in self.model.named_parameters():
            if 'encoder_conv' in name or name.startswith('gates'):
                params['params'].append(param)
        parameters.append(params)

        # a larger learning rate for the layers on top
        params = {'lr': 5e-2, 'weight_decay': 1e-2, 'params': []}
        for name, param in self.model.named_parameters():
            if 'crf' in name or name.startswith('fc'):
                params['params'].append(param)
        parameters.append(params)

        self.optimizer = optim.AdamW(parameters)
        for name, par in self.model.named_parameters():
            if 'image_model' in name:
                par.requires_grad = False

    def train(self):
        self.model.train()
        for epoch in range(1, self.num_epochs + 1):
            for tokens, image, tags in self.train_data:
                logits = self.model(tokens, image)
                loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            print('Epoch {}/{}, loss {:.4f}'.format(epoch, self.num_epochs, loss.item()))


if __name__ == '__main__':
    torch.manual_seed(1)
    NERTrainer(HMNeTNERModel(), DataLoader(TweetsWithImages(), batch_size=16, shuffle=True)).train()
