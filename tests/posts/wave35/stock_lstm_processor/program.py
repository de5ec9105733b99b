import logging

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger("trader")


class MarketDataProcessor:
    """Feature engineering and windowing for the price direction model."""

    def __init__(self, sequence_length=30):
        self.sequence_length = sequence_length
        self.feature_columns = ["Close", "Volume", "Returns", "RSI", "MACD", "Volatility"]

    def load(self, n_days=900, seed=5):
        rng = np.random.default_rng(seed)
        drift = np.where(np.arange(n_days) < 650, 0.0004, 0.004)
        returns = drift + 0.012 * rng.standard_normal(n_days)
        close = 100 * np.exp(np.cumsum(returns))
        volume = rng.lognormal(12, 0.4, n_days) * (1 + np.arange(n_days) / 400)
        index = pd.bdate_range("2021-01-04", periods=n_days)
        return pd.DataFrame({"Close": close, "Volume": volume}, index=index)

    def add_indicators(self, df):
        df = df.copy()
        df["Returns"] = df["Close"].pct_change()
        delta = df["Close"].diff()
        gain = delta.clip(lower=0).rolling(14).mean()
        loss = (-delta.clip(upper=0)).rolling(14).mean()
        df["RSI"] = 100 - 100 / (1 + gain / loss)
        df["MACD"] = df["Close"].ewm(span=12, adjust=False).mean() - df["Close"].ewm(span=26, adjust=False).mean()
        df["Volatility"] = df["Returns"].rolling(20).std()
        df["Target"] = (df["Close"].shift(-1) > df["Close"]).astype(np.float32)
        return df.iloc[:-1].dropna()

    def normalize(self, df):
        normed = df.copy()
        for col in self.feature_columns:
            mean, std = df[col].mean(), df[col].std()
            normed[col] = (df[col] - mean) / (std if std > 0 else 1.0)
        return normed

    def create_sequences(self, df):
        values = df[self.feature_columns].to_numpy(dtype=np.float32)
        target = df["Target"].to_numpy(dtype=np.float32)
        n = self.sequence_length
        xs = np.stack([values[i - n + 1:i + 1] for i in range(n - 1, len(df))])
        return torch.from_numpy(xs), torch.from_numpy(target[n - 1:])


class DirectionLSTM(nn.Module):
    def __init__(self, n_features, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)


def fit(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        logger.info("epoch %d loss %.4f", epoch, total / len(loader.dataset))


@torch.no_grad()
def backtest(model, x, y):
    model.eval()
    logits = model(x)
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y).item()
    return loss, ((logits > 0).float() == y).float().mean().item()


def main():
    torch.manual_seed(5)
    processor = MarketDataProcessor(sequence_length=30)
    df = processor.add_indicators(processor.load())
    split = int(len(df) * 0.8)
    df = processor.normalize(df)
    train_df, test_df = df.iloc[:split], df.iloc[split:]
    x_train, y_train = processor.create_sequences(train_df)
    x_test, y_test = processor.create_sequences(test_df)
    logger.info("train %s test %s", tuple(x_train.shape), tuple(x_test.shape))
    logger.info("mean Close feature: train %.3f test %.3f", train_df["Close"].mean(), test_df["Close"].mean())

    model = DirectionLSTM(len(processor.feature_columns))
    fit(model, DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True), epochs=6)
    loss, acc = backtest(model, x_test, y_test)
    logger.info("backtest loss %.4f accuracy %.3f", loss, acc)


if __name__ == "__main__":
    main()
