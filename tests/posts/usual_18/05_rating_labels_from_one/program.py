# Kaggle: predict star rating of restaurant reviews (1 to 5 stars)
import random
import pandas as pd
import torch
import torch.nn as nn
from sklearn.feature_extraction.text import TfidfVectorizer
from torch.utils.data import DataLoader, TensorDataset

random.seed(5)
torch.manual_seed(5)

words = {
    1: "awful cold rude dirty never disgusting".split(),
    2: "slow bland noisy overpriced meh".split(),
    3: "okay average fine decent normal".split(),
    4: "good tasty friendly nice fresh".split(),
    5: "amazing perfect wonderful best superb".split(),
}
filler = "the food was and we had a table waiter dinner lunch soup".split()

rows = []
for _ in range(500):
    stars = random.randint(1, 5)
    text = random.choices(words[stars], k=4) + random.choices(filler, k=8)
    random.shuffle(text)
    rows.append({"text": " ".join(text), "stars": stars})
df = pd.DataFrame(rows)
print(df.head())

vectorizer = TfidfVectorizer(max_features=300)
X = vectorizer.fit_transform(df["text"]).toarray()
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(df["stars"].values)

n_train = 400
train_ds = TensorDataset(X[:n_train], y[:n_train])
val_ds = TensorDataset(X[n_train:], y[n_train:])
train_loader = DataLoader(train_ds, batch_size=25, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=50)

NUM_CLASSES = df["stars"].nunique()


class ReviewMLP(nn.Module):
    def __init__(self, vocab, num_classes):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(vocab, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, num_classes)
        )

    def forward(self, x):
        return self.net(x)


model = ReviewMLP(X.shape[1], NUM_CLASSES)
criterion = nn.CrossEntropyLoss(label_smoothing=0.0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        out = model(xb)
        loss = criterion(out, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.3f}  val acc {correct / len(val_ds):.3f}")
