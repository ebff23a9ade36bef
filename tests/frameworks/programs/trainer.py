"""transformers' Trainer with a loss of the user's, windows of 4, labels of different lengths."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(0)
config = GPT2Config(vocab_size=32, n_positions=16, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)


def row(index):
    tokens = torch.randint(1, 32, (12,))
    labels = tokens.clone()
    labels[0] = labels[2 + index % 9 :] = -100
    return {"input_ids": tokens, "labels": labels}


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(
            outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100, reduction="sum"
        )
        loss = loss / num_items_in_batch
        return (loss, outputs) if return_outputs else loss


arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=4,
    max_steps=3,
    use_cpu=True,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
    logging_strategy="no",
    learning_rate=0.01,
)
CALLBACKS = []
Mine(model=model, callbacks=CALLBACKS, args=arguments, train_dataset=[row(i) for i in range(24)]).train()
