"""All rules, in the order in which they are documented. A new rule is a new file and two lines here."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType, ModuleType

from amplint.catalogue.accumulation import (
    backward_only_at_boundary,
    double_loss_division,
    dropped_tail_window,
    early_first_window,
    ema_per_micro_step,
    ignored_num_items_in_batch,
    ineffective_loss_division,
    leaked_gradients,
    mean_of_token_means,
    misnormalized_tail_window,
    missing_loss_division,
    missing_step,
    missing_zero_grad,
    retained_graph,
    step_per_micro_step,
    wrong_loss_divisor,
    zero_grad_before_step,
    zero_grad_per_micro_step,
)
from amplint.catalogue.autocast import (
    autocast_not_entered,
    autocast_unsafe_loss,
    backward_in_autocast,
    conflicting_precision_flags,
    data_parallel_autocast,
    deprecated_cuda_amp,
    float16_overflow_literal,
    float16_parameters_with_scaler,
    float16_vanishing_epsilon,
    float16_without_master_weights,
    invalid_autocast_arguments,
    loss_outside_autocast,
)
from amplint.catalogue.checkpoint import (
    scaler_not_restored,
    scaler_not_saved,
)
from amplint.catalogue.clipping import (
    clip_after_step,
    clip_before_backward,
    clip_before_unscale,
    clip_exhausted_iterator,
    clip_per_micro_step,
    clip_raises_on_overflow,
    scaled_gradient_norm,
)
from amplint.catalogue.distributed import (
    averaged_twice_across_ranks,
    forward_bypasses_ddp,
    forward_outside_no_sync,
    fsdp_local_clip,
    fsdp_plain_scaler,
    missing_no_sync,
    no_sync_on_boundary,
)
from amplint.catalogue.framework import (
    bypassed_framework_backward,
    bypassed_framework_clip,
    gated_framework_step,
    missing_accumulate_context,
)
from amplint.catalogue.rule import Rule
from amplint.catalogue.scaler import (
    closure_with_scaler,
    collapsed_loss_scale,
    discarded_scaled_loss,
    float16_without_scaler,
    high_initial_scale,
    invalid_scaler_config,
    missing_scaler_update,
    mixed_scaled_losses,
    repeated_unscale,
    scaler_created_in_loop,
    scaler_update_order,
    scaler_with_bfloat16,
    scaler_without_autocast,
    short_growth_interval,
    step_bypasses_scaler,
    unscale_after_step,
    unscaled_backward,
)
from amplint.catalogue.scheduler import (
    batch_scheduler_per_epoch,
    epoch_scheduler_per_batch,
    scheduler_before_optimizer,
    scheduler_horizon_mismatch,
    scheduler_never_stepped,
    scheduler_on_skipped_step,
    scheduler_per_micro_step,
)

_MODULES: tuple[ModuleType, ...] = (
    unscaled_backward,
    mixed_scaled_losses,
    step_bypasses_scaler,
    missing_scaler_update,
    scaler_update_order,
    repeated_unscale,
    unscale_after_step,
    discarded_scaled_loss,
    scaler_created_in_loop,
    closure_with_scaler,
    invalid_scaler_config,
    short_growth_interval,
    high_initial_scale,
    collapsed_loss_scale,
    scaler_with_bfloat16,
    float16_without_scaler,
    scaler_without_autocast,
    backward_in_autocast,
    invalid_autocast_arguments,
    autocast_not_entered,
    autocast_unsafe_loss,
    loss_outside_autocast,
    conflicting_precision_flags,
    data_parallel_autocast,
    deprecated_cuda_amp,
    float16_parameters_with_scaler,
    float16_without_master_weights,
    float16_overflow_literal,
    float16_vanishing_epsilon,
    clip_before_unscale,
    clip_after_step,
    clip_before_backward,
    clip_per_micro_step,
    clip_exhausted_iterator,
    clip_raises_on_overflow,
    scaled_gradient_norm,
    missing_loss_division,
    double_loss_division,
    ineffective_loss_division,
    wrong_loss_divisor,
    mean_of_token_means,
    ignored_num_items_in_batch,
    zero_grad_per_micro_step,
    zero_grad_before_step,
    missing_zero_grad,
    leaked_gradients,
    step_per_micro_step,
    backward_only_at_boundary,
    missing_step,
    early_first_window,
    dropped_tail_window,
    misnormalized_tail_window,
    retained_graph,
    ema_per_micro_step,
    scheduler_per_micro_step,
    scheduler_before_optimizer,
    scheduler_horizon_mismatch,
    epoch_scheduler_per_batch,
    batch_scheduler_per_epoch,
    scheduler_never_stepped,
    scheduler_on_skipped_step,
    missing_no_sync,
    no_sync_on_boundary,
    forward_outside_no_sync,
    forward_bypasses_ddp,
    fsdp_local_clip,
    fsdp_plain_scaler,
    averaged_twice_across_ranks,
    scaler_not_saved,
    scaler_not_restored,
    bypassed_framework_backward,
    bypassed_framework_clip,
    gated_framework_step,
    missing_accumulate_context,
)


def _named(module: ModuleType) -> Rule:
    """The rule of a module, with what the module's place says: its id, its family and its page."""
    family, slug = module.__name__.split(".")[-2:]
    rule: Rule = module.RULE
    return replace(rule, id=slug.replace("_", "-"), family=family, page=module.__doc__ or "")


RULES: MappingProxyType[str, Rule] = MappingProxyType({rule.id: rule for rule in map(_named, _MODULES)})
