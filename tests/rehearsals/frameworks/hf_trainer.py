"""A text classifier, fine-tuned with the Trainer of transformers."""

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


class Reviews(Dataset):
    def __init__(self, count, seed):
        self.random = np.random.default_rng(seed)
        self.texts = self.random.integers(1, 900, (count, 24))
        self.stars = self.random.integers(0, 5, count)

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        ids = torch.tensor(self.texts[index])
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "labels": torch.tensor(self.stars[index]),
        }


class Printer(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        print("epoch", state.epoch, "at step", state.global_step)


def accuracy(prediction):
    guesses = prediction.predictions.argmax(-1)
    return {"accuracy": float((guesses == prediction.label_ids).mean())}


def main():
    config = BertConfig(
        vocab_size=1000,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        num_labels=5,
    )
    model = BertForSequenceClassification(config)
    arguments = TrainingArguments(
        output_dir="reviews-out",
        num_train_epochs=100,
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        gradient_accumulation_steps=4,
        learning_rate=3e-4,
        lr_scheduler_type="cosine",
        warmup_steps=100,
        max_grad_norm=1.0,
        weight_decay=0.01,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        logging_steps=10,
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Reviews(1003, 0),
        eval_dataset=Reviews(201, 1),
        compute_metrics=accuracy,
        callbacks=[Printer(), EarlyStoppingCallback(early_stopping_patience=3)],
    )
    trainer.train()
    print(trainer.evaluate())
    output = trainer.predict(Reviews(65, 2))
    print(output.predictions.shape, output.metrics)
    trainer.save_model("reviews-best")


if __name__ == "__main__":
    main()
