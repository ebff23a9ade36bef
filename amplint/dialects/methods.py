"""What the methods of tensors, modules and scalers do of which the machine knows no more than the name (torch 2.13)."""

from __future__ import annotations

SAME_LOSS = frozenset(
    """mean clone float double half bfloat16 to cuda cpu view squeeze unsqueeze reshape contiguous requires_grad_
    type""".split()
)
"""Of a number: they leave it what it is."""

SAYS = frozenset(
    """item detach tolist numpy dim ndimension numel nelement size element_size stride all any isnan isinf isfinite
    isneginf isposinf eq ne lt le gt ge equal is_floating_point is_complex get_device""".split()
)
"""They say something of a tensor, without its graph."""

LEAVES_GRAPH = frozenset("data detach detach_ device dtype grad item numel numpy shape size tolist".split())
"""Attributes and methods behind which the graph is left."""

KEEPS_NUMBERS = frozenset({"detach_", "requires_grad_", "masked_fill_", "nan_to_num_"})
"""They leave gradients as they are, but for elements that are repaired or left out."""

COMPILED_FROM = "_orig_mod"
"""Where a model that `torch.compile` made keeps the one that it compiles (torch 2.13, `_dynamo/eval_frame.py`,
`OptimizedModule`): as far as a step goes they are the same."""

ASKS_A_MODEL = frozenset(
    """cuda cpu to train eval parameters named_parameters modules named_modules children zero_grad state_dict
    load_state_dict requires_grad_ gradient_checkpointing_enable gradient_checkpointing_disable resize_token_embeddings
    enable_input_require_grads print type isinstance hasattr id str repr len sum numel save_pretrained compile watch
    summary""".split()
)
"""Methods of a model, and functions that are handed one, that leave the dtype of its parameters alone."""

KEEPS_DTYPE = frozenset(
    """T clone contiguous cpu cuda detach expand flatten mT mean norm permute repeat reshape squeeze sum t transpose
    unsqueeze view""".split()
)
"""Their tensor has the dtype of the one that they are called on."""

OF_ANY = frozenset({"mean", "sum", "item", "detach", "float", "to", "cuda", "cpu", "clone", "squeeze", "half"})
ARRANGING = frozenset("gather view reshape flatten unsqueeze contiguous permute transpose double bfloat16".split())
ELEMENTWISE = ARRANGING | frozenset(
    "pow square abs exp log log1p sqrt clamp clamp_min clamp_max sigmoid tanh relu neg sub".split()
)
FUNCTIONS = ELEMENTWISE | frozenset("add softmax log_softmax logsigmoid softplus logsumexp".split())
"""Functions of the elements of one tensor, and those that methods are too."""

DIRECTIONS = frozenset({"normalize", "cosine_similarity", "sign", "sgn", "signbit", "argmax", "argmin", "argsort"})
"""Functions that leave the direction or the sign alone, and no length."""

CASTS = frozenset({"half", "to", "float", "double", "bfloat16"})
"""They change the precision of a module in place."""

MOVES = frozenset("bfloat16 cpu cuda double eval float half requires_grad_ to train".split())
"""They return the module itself."""

PARSES = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
"""Methods of a parser of command lines that give what was parsed."""

HANDS_OUT = frozenset({"parameters", "named_parameters"})
"""They give what a module is made of."""

MAKES_MODELS = frozenset({"from_pretrained", "from_config", "_from_config", "load_from_checkpoint"})
"""Methods of libraries' classes of models that make an object of the class that they are called on, of what a file or a
configuration says: `modeling_utils.py` of transformers 5.24, `configuration_utils.py` of diffusers 0.35.1,
`pytorch/core/saving.py` of Lightning 2.6.6, `hub_mixin.py` of huggingface_hub 2.4."""

SPELLS = frozenset({"casefold", "lower", "strip", "upper"})
"""Methods of a text that return the same word."""

RUNS_AS_BEFORE = frozenset({"to", "cuda", "cpu", "train", "eval", "requires_grad_", "apply", "to_empty"})
"""They return a module that runs in the precision in which it ran."""

SWITCHES_GRADIENTS = "requires_grad_"
"""The method of a module that says whether its parameters get gradients: `torch/nn/modules/module.py` of 2.13."""

OF_MODEL = frozenset(
    """forward no_sync parameters named_parameters train eval to cuda cpu requires_grad_ zero_grad clip_grad_norm_
    require_backward_grad_sync""".split()
)
"""Attributes of a module, or of what wraps one for several processes."""

OF_SCALER = frozenset(
    """scale unscale_ step update get_scale _scale is_enabled state_dict load_state_dict get_growth_factor
    set_growth_factor get_backoff_factor set_backoff_factor get_growth_interval set_growth_interval""".split()
)
"""All that a scaler has: `torch/amp/grad_scaler.py`."""

ON_LOGARITHMS = frozenset({"NLLLoss", "NLLLoss2d", "nll_loss", "KLDivLoss", "kl_div", "CTCLoss", "ctc_loss"})
"""The criteria that are given what `log_softmax` returns: autocast runs that in float32 (`AT_FORALL_FP32` in
`ATen/autocast_mode.h`), so that a model that ends with it returns float32."""

HOOKS_OF_GRADIENTS = frozenset({"register_hook", "register_comm_hook", "register_post_accumulate_grad_hook"})
HOOKS_OF_FORWARDS = frozenset({"register_forward_hook", "register_forward_pre_hook"})
HOOKS_OF_BACKWARDS = frozenset(
    {"register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook"}
)
HOOKS_OF_STEPS = frozenset({"register_step_pre_hook", "register_step_post_hook"})
"""What registers a hook, and on what."""

HOOKS = HOOKS_OF_GRADIENTS | HOOKS_OF_FORWARDS | HOOKS_OF_BACKWARDS | HOOKS_OF_STEPS
