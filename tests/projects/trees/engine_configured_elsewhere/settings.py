"""The configuration of an engine, made for whoever trains."""


def engine_settings(args):
    sizes = {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": args.window,
        "bf16": {"enabled": True},
    }
    return sizes


def single(args):
    sizes = {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "bf16": {"enabled": True},
    }
    return sizes
