"""TRL's SFTTrainer with a tokenizer made by hand."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

torch.manual_seed(0)
words = "<pad> <eos> <unk> the a cat dog sat ran on mat fast slowly and then".split()
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
config = GPT2Config(vocab_size=15, n_positions=32, n_embd=8, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1)
model = GPT2LMHeadModel(config)


class Mine(SFTTrainer):
    pass


rows = {
    "prompt": ["the cat" + " sat" * (i % 3) for i in range(24)],
    "completion": [" ran fast" * (1 + i % 5) for i in range(24)],
}
arguments = SFTConfig(
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
    max_length=32,
    bf16=False,
)
Mine(model=model, args=arguments, train_dataset=Dataset.from_dict(rows), processing_class=tokenizer).train()
