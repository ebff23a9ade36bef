"""What people call things, in whole words: the only place that says what a name that was not resolved may mean.

A name is split into its words (`snake_case`, `CamelCase`, digits apart) and asked for some of them, or for some in a
row: `clip_grad` is in `clip_grads_twice` no more than `log` is in `catalog`. A name with none of these
words is unknown, and so is what it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

OPTIMIZER = "optimizer optimizers optimiser optimisers optim optims opt opts optimizerd optimizerg"
OPTIONS = "opt opts"
"""Of those, what options are called as well."""
OF_SETTINGS = "of settings"
"""Stands among the methods that a module calls on a name: what is read of it, no optimizer has."""
OPTIMIZER_ITSELF = "optimizer optimiser"
OF_OPTIMIZER = """parameters parameter params param groups group kwargs args arg cfg config conf configuration settings
    options hparams dict name names type kind cls"""
"""What ends the name of something that an optimizer is made of: `optimizer_grouped_parameters`."""
OPTIMIZER_CLASS = """adam adamw adamax adagrad adadelta adafactor sgd lamb lars lion rmsprop muon shampoo sophia
    prodigy ranger optim optimizer optimiser"""
SCALER = "scaler scalers"
KINDS = "grad loss amp gen dis a b d e f g h m n p q v 0 1 2 3 4"
"""What tells an optimizer or a scaler from others: `optimizer_d`, `loss_scaler`."""

SCALED = "scale scaled scales scaler scaling rescale rescaled lossscale"
NUMBERS_SCALER = """standard std min_max minmax max_abs robust target targets feature features data label labels y x
    tgt price quantile image"""
"""Of what puts numbers on one scale, and has nothing to do with gradients: `StandardScaler`, `price_scaler`."""

SETTINGS = "args arg cfg config conf configuration opt opts options option hparams hp settings flags flag params"
"""Of what holds what a run was told before it began."""
FILED = "cfg config configs conf configuration hp hparams settings"
"""Of what holds what files of the project set."""
METRIC = """loss losses acc accuracy metric metrics score scores dice iou miou auc f1 psnr ssim wer cer bleu perplexity
    ppl mse mae rmse error"""
"""What a model is measured by."""
TIMES = "epoch epochs step steps iter iters iteration phase mode split"
"""What tells where in a run it is."""
CONSTANT = """owner rank enabled enable allowed supported available mode worker process main master leader host device
    configured wanted"""
"""What a flag ends with that is what it is for the whole run: `is_step_owner`."""
LOADER = """loader loaders dataloader dataloaders data_loader data_loaders dl dls iter iterator batches train_dl data
    dataset datasets generator queue stream pipeline feeder prefetcher train_set train trains training sampler it"""
HUGE = "huge infinite unlimited unbounded no_limit no_clip never nothing"
"""Of a threshold that nothing reaches."""
SCHEDULER = """sched scheds scheduler schedulers schedule schedules schd schds sch schedular schduler sheduler lrs
    warmup warm_up"""
RATE_ITSELF = "lr"
RATE = "lr lrs learning_rate momentum weight_decay wd"
MODEL = """model models net nets netd netg netf network networks module modules ddp gpt llm bert encoder encoders
    decoder decoders student students generator generators discriminator discriminators learner policy unet vae
    autoencoder resnet densenet efficientnet mobilenet convnet alexnet lenet posenet mynet mymodel classifier backbone
    transformer critic actor gan"""
SHIFTED = "shift shifted"
"""Of logits and labels that were moved by one position, so that each predicts the next."""
LOSS = "loss losses criterion criterions criteria objective objectives nll"
CRITERION_ITSELF = "criterion criterions crit"
CRITERION = """objective loss loss_f loss_fn loss_fun loss_func loss_function loss_module loss_layer losses loss_ce
    loss_bce loss_mse loss_mae loss_kl loss_cls loss_reg loss_box loss_gan loss_adv loss_rec"""
VERBS = """compute get calc calculate train forward eval evaluate make build create update log print save plot show
    record track report write add append set accumulate reduce gather sync backward step"""
"""What a function begins with that is no loss function although it is named after one: `log_loss`, `train_loss`."""

HOLDERS = """self state trainer engine learner agent runner accelerator fabric strategy context ctx optimizer
    optimizers module pipeline worker session"""
"""What people call objects that have a model and an optimizer in them."""

WINDOW = """accum accumulate accumulation accumulations acc_step acc_steps grad_acc grads_acc gradient_acc gradacc
    update_freq update_frequency iters_to_accum micro_batches micro_steps micro_batch_count num_micro n_micro
    iter_size iteration_per_update iterations_per_update steps_per_update"""
RANKS = """world world_size num_processes nprocs n_procs n_gpu n_gpus num_gpus ngpus rank ranks group process_group
    device devices dst src op"""
TOOL = """env envs environment prof profiler profilers profile simulator sim world pbar tbar progress bar tqdm meter
    meters logger loggers logging log writer writers tensorboard tb wandb mlflow timer timers timing stopwatch clock
    watch tracker monitor recorder reporter metric metrics counter console tracer telemetry heartbeat stopper
    early_stopping earlystopping early_stop"""
"""What stands beside a training and has a `step` or an `update` of its own that moves no weight."""

TELLING = """print log logs logger logging info debug warn warning writer wandb tqdm pbar progress bar postfix
    description"""
"""Words of those who tell the user something, and do nothing else."""

READING = """lr lrs learning_rate sched scheduler schedulers schedule warmup warm_up save saves saved saving
    checkpoint checkpoints ckpt ckpts snapshot log logs logged logger logging state states state_dict print prints
    pprint summary summarize summarise count counts describe repr str len length info show report display plot dump
    load loads resume restore hasattr getattr isinstance type types id get is has should can watch format inspect
    stats statistics monitor record debug dtype name names size memory num register early_stop early_stopper
    early_stopping fit_transform"""
"""Words of those who look, keep what they see, bring back what was kept, or change the rate and nothing else."""

COMPUTING = """loss losses criterion compute calc calculate evaluate evaluation eval validate validation val valid
    test testing predict prediction infer inference forward generate generation sample score scores accuracy acc
    metric metrics logits embed encode decode visualize visualise render export profile profiling benchmark ema make
    build create init initialize initialise freeze unfreeze wrap unwrap to cuda cpu copy clone deepcopy compile
    convert quantize cast barrier broadcast seed parameters params groups param_groups named requires_grad mode
    share"""
"""Words of those who run a model, make one, or put it elsewhere: its gradients stay what they are."""
PREPARING = """preparation preprocess preprocessing augment augmentation collate tokenize tokenise embedding embeddings
    latents prepare_input prepare_inputs prepare_batch prepare_data"""
"""Words of those who make the inputs of a model ready."""

ASIDE = """ema swa polyak moving_average requires_grad toggle toggle_grad freeze unfreeze grad_norm grad_norms
    gradient_norm grads_norm gradient_norms param_norm total_norm global_norm"""
"""Words of those who keep an average of the weights, switch gradients on or off, or measure them."""

ACTING = """reset resets resetting clear clears zero zeros zeroes zero_grad step steps stepping step_update update
    updates updating unscale rescale clip clips clipping clamp apply applies backward backwards backprop backpropagate
    optimize optimise optimization minimize minimise train trains training fit learn replay divide div multiply mul
    flush wipe erase discard rewind undo"""
"""Words of those who may do something to gradients or weights, whatever else they do."""

RATE_VERBS = """update set reset adjust change decay step apply get init warmup cosine poly linear exponential
    constant scale per by epoch iter batch layer group annealing half"""
HIDDEN = """backward backwards backprop backpropagate zero_grad zerograd step steps stepping optimize optimise
    optimization run_optimizer fit unscale clip_grad clip_grads clip_gradient clip_gradients clip_norm clip_parameters
    clip_params clip_master clip_all update_param update_params update_parameter update_parameters update_weights
    replay train_batch train_one train_step training_step scale_loss"""
"""Words of methods that do a part of the training step where nobody sees it."""

DECORATING = """time timed times timeit timer profile profiled trace traced annotate nvtx record catch retry typed
    typechecked jaxtyped beartype deprecated override cache cached main command script jit compile"""
"""Of decorators that leave a function what it is."""
REPEATING = "every each repeat repeats repeated repeatedly times once again only when unless skip"
"""Of decorators that call a function more than once, or not each time."""

TAKING = "step steps stepping optimize optimise optimized apply applied update hook hooks callback callbacks"
GRADIENTS = "grad grads gradient gradients"
BESIDE_GRADIENTS = """no_grad zero_grad enable_grad set_grad requires_grad scaler scale accum accumulate accumulation
    acc checkpoint checkpointing penalty sync"""
"""Words of what speaks of gradients, and reads none of those that a model has."""
GOING_BACK = "backward backwards backprop backpropagate"
CLIPPING = """clip clips clipping clipper grad grads gradient gradients norm norms optim optimizer optimizers engine
    trainer accelerator fabric scaler self torch utils amp"""
KEEPING = """reduce reduced gather gathered all_reduce all_gather reduce_mean mean average avg averaged sync synced
    synchronize to cuda cpu float item detach clone contiguous across_ranks"""
"""Words of those who give back the loss that they were given: over ranks, on another device, without its graph."""

RESTORING = "load loads loaded resume resumed restore restored"
SAVING = "save saves saved saving checkpoint checkpoints ckpt ckpts"
STATE = "state states snapshot snapshots"

AVERAGE = """ema swa ema_model ema_net ema_unet ema_weight ema_weights ema_param ema_params ema_parameters swa_model
    swa_net swa_weights swa_params swa_parameters"""
AVERAGE_ITSELF = "ema swa averaged"
AVERAGE_UPDATE = """update_ema update_swa update_moving_average update_weights_ema ema_update moving_average
    exponential_moving_average"""
"""Of a function that is handed an average of weights, and the model whose present weights it takes in."""
NOW_AND_THEN = "step steps iter iters iteration iterations it epoch i count"
"""Of what a function is handed so that it does something now and then."""
NUMBER_AVERAGED = "loss losses acc accuracy norm norms metric metrics score scores time grad grads reward rewards lr"
"""What is averaged in an average that is none of weights: `loss_ema`."""

MAKING = """build create make get import init initialize initialise load restore resume save export freeze unfreeze wrap
    unwrap setup prepare compile clone copy"""
"""How the name of a function begins that is about a model, and is none."""
CREATING = "build create make init initialize"
"""How a function says that what it gives is new."""
PUTTING = "backup save store stash restore load put copy swap write assign apply merge project"
GRADIENT_NORM = "grad_norm grads_norm grad_norms grads_norms gradient_norm gradients_norm gradient_norms gradnorm"
MORE_THAN_NORM = """clip clipped clipping clamp unscale unscaled normalize normalise normalized penalty penalize loss
    reg regularize regularizer regularization"""
SHARDS = "fsdp hsdp shard shards sharded sharding fully_shard zero_3"
COLLECTING = "reduce reduced reducer gather gathered all_reduce all_gather dist_sum dist_mean broadcast"
OF_RATES = "lr lrs rate rates sched scheduler schedulers schedule optim optimizer optimizers param_groups state states"
"""Words of what holds learning rates, or their state."""
SYNCHRONIZING = "sync synced synchronize synchronise average averaged avg"
REDUCING = "reduce reduces reducer reducers all_reduce allreduce allreducer averager"
AVERAGING = "average averages averaging averaged"
"""Of those who put together what several ranks have, besides the words of a gather or of a mere wait; who averages and
is handed a model keeps an average of its weights."""
OF_ALL_RANKS = "global world distributed all_ranks across_ranks cross_rank gathered gather"
AVERAGING_PACKAGES = "hivemind horovod byteps bagua torchft kungfu"
"""Whose optimizers, or what wraps them, average the gradients over the ranks."""
REDUCING_LATER = "sync nosync all_reduce is_last_backward"
"""Words of what says when gradients are reduced over the ranks: `set_requires_all_reduce` of FSDP2, for one."""
DEFERRING = "no_sync nosync grad_sync gradient_sync grads_sync gradients_sync skip_sync no_backward_sync fully_shard"
SUCCEEDING = "finite success successful was_run"
"""Of what says that a step was taken."""
OVERFLOWING = "overflow overflows overflowed skip skips skipped skipping skipstep nonfinite hasnan"
"""Of tests for numbers that leave out a step."""
LIMITING = "clip clips clipped clipping clipper coef coefs coeff coeffs coefficient coefficients"
"""Of factors that limit a gradient."""
REGION = "autocast autocasting auto_cast mixed_precision"
CASTING = "amp autocast autocasting auto_cast ctx ctxt context contexts precision half"
"""Of contexts that may set the precision of what is computed in them."""
FREEZING = """requires_grad requiresgrad freeze freezes freezing frozen unfreeze unfreezing unfrozen freezer toggle
    toggles toggled nontrainable trainable trainables lock locks locked unlock unlocks unlocked thaw thaws
    freezed unfreezed freezebn untoggle untrainable"""
"""Of those who keep gradients from some parameters, or no longer do."""
WARMING = "warm warmup warmups warm_up warmer warming warmed warmupsteps"
ENDLESS = "infinite infinitely endless forever unending neverending"
UPCASTING = "fp_32 float_32 master masters upcast upcasts upcasting to_float unscale_grads"
UPDATING = "update updates nupdates accums accumulated accumulates accumulating optimization optimisation"
"""Of numbers that count updates, besides the words for optimizers and windows."""
COUNTED = """loader loaders dataloader dataloaders dloader trainloader testloader valloader validloader batches nbatches
    microbatches minibatches dl"""
"""Of what is counted in batches."""
FINITE = "finite isfinite is_finite nan isnan inf isinf infs nans allclose"

VERSION = "version torch pytorch loose parse is get has min current installed"
"""What a question for the version of the library consists of: `LooseVersion`, `TORCH_VERSION`."""
RELEASE = """torch_0 torch_1 torch_2 torch_3 torch_v torch_ge torch_gt torch_le torch_lt torch_less torch_great
    torch_greater torch_at_least torch_before torch_since pytorch_0 pytorch_1 pytorch_2 pytorch_v pytorch_ge
    pytorch_gt pytorch_le pytorch_lt pytorch_less pytorch_great pytorch_greater pytorch_at_least"""
"""What a flag is called that says which release of torch there is: `TORCH_2_4`, `is_torch_ge_2`."""

_GLUED: Mapping[str, tuple[str, ...]] = {
    "gradscaler": ("grad", "scaler"),
    "lossscaler": ("loss", "scaler"),
    "ampscaler": ("amp", "scaler"),
    "lossfn": ("loss", "fn"),
    "lossfunc": ("loss", "func"),
    "lossfunction": ("loss", "function"),
    "celoss": ("ce", "loss"),
    "mseloss": ("mse", "loss"),
    "bceloss": ("bce", "loss"),
    "ganloss": ("gan", "loss"),
    "totalloss": ("total", "loss"),
    "zerograd": ("zero", "grad"),
    "cleargrad": ("clear", "grad"),
    "cleargrads": ("clear", "grads"),
    "allreduce": ("all", "reduce"),
    "allgather": ("all", "gather"),
    "lrscheduler": ("lr", "scheduler"),
    "lrsched": ("lr", "sched"),
    "learningrate": ("learning", "rate"),
    "worldsize": ("world", "size"),
    "gradaccum": ("grad", "accum"),
    "gradacc": ("grad", "acc"),
    "myoptimizer": ("my", "optimizer"),
}
"""Words that people write as one."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=16384)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, or of a text that holds several: `("grad", "scaler", "2")` of `GradScaler2`."""
    spelled = name.replace("NaN", "Nan")
    return tuple(part for word in _WORD.findall(spelled) for part in _GLUED.get(word.lower(), (word.lower(),)))


_OF_TOKENS = ("tok", "num_items", "n_valid", "nvalid", "valid_")


def names_tokens(name: str) -> bool:
    """Whether a number is, by its name, a count of tokens or of valid targets. Such names are written as one word, and
    cut short, so often (`ntoks`) that parts of words count."""
    lowered = name.lower()
    return any(one in lowered for one in _OF_TOKENS)


def within(*texts: str) -> Callable[[str], bool]:
    """Whether a name holds one of some words, or of some in a row, as a question that remembers its answers."""
    singles, rows = _phrases(texts)

    @lru_cache(maxsize=8192)
    def answer(name: str) -> bool:
        said = words(name)
        return not singles.isdisjoint(said) or any(
            said[at : at + len(row)] == row for row in rows for at in range(len(said) - len(row) + 1)
        )

    return answer


def ending(*texts: str) -> Callable[[str], bool]:
    """Whether one of some words, or of some in a row, is what a name ends with; numbers and single letters that only
    tell it from others (`criterion_2`, `netG`) aside."""
    singles, rows = _phrases(texts)

    @lru_cache(maxsize=8192)
    def answer(name: str) -> bool:
        said = words(name)
        ends = [said[: len(said) - cut] for cut in range(_numbering(said) + 1)]
        return any(end[-1:] and end[-1] in singles for end in ends) or any(
            end[-len(row) :] == row for end in ends for row in rows
        )

    return answer


def consisting(*texts: str) -> Callable[[str], bool]:
    """Whether all words of a name are among some."""
    allowed = frozenset(part for text in texts for phrase in text.split() for part in words(phrase))

    @lru_cache(maxsize=8192)
    def answer(name: str) -> bool:
        return bool(said := words(name)) and allowed.issuperset(said)

    return answer


def _phrases(texts: tuple[str, ...]) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """The single words of some texts, and the rows of several."""
    every = [words(phrase) for text in texts for phrase in text.split()]
    return frozenset(one[0] for one in every if len(one) == 1), tuple(one for one in every if len(one) > 1)


def _numbering(said: tuple[str, ...]) -> int:
    """How many of the last words only tell a thing from others of its kind."""
    count = 0
    while count < len(said) - 1 and (said[-1 - count].isdigit() or len(said[-1 - count]) == 1):
        count += 1
    return count
