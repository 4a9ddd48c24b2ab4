"""How many tokens the KV cache gets: the arithmetic, and the pools that follow from it.

These are methods of ModelRunner. They stand at the top level so that each has a short address:
`engine.sizing:profile_max_num_token`. All memory is in GiB, as both engines and logs have it.
"""

from engine.device import get_available_gpu_memory
from engine.log import log
from engine.pools import MLATokenToKVPool, ReqToTokenPool

BFLOAT16_BYTES = 2


def get_cell_size_per_token(self):
    """Bytes of KV cache that one token takes on every rank; MLA does not divide it over ranks."""
    config = self.model_config
    latent = config.kv_lora_rank + config.qk_rope_head_dim
    return latent * config.num_hidden_layers * BFLOAT16_BYTES


def profile_max_num_token(self, total_gpu_memory):
    """Tokens that fit: the static fraction of `total_gpu_memory`, less what the weights took.

    `total_gpu_memory` was free before the weights, on the rank that had least. The fraction covers
    weights and KV cache; what is left over is for everything else.
    """
    available_gpu_memory = get_available_gpu_memory(self.device, self.cpu_group)
    cell_size = self.get_cell_size_per_token()
    if self.server_args.max_total_tokens is not None:
        asked_memory = self.server_args.max_total_tokens * cell_size / (1 << 30)
        log(f"--max-total-tokens asks for {asked_memory:.2f} GB of KV cache.")

    rest_memory = available_gpu_memory - total_gpu_memory * (
        1 - self.mem_fraction_static
    )
    max_num_token = int(rest_memory * (1 << 30)) // cell_size
    return max_num_token


def init_memory_pool(self, total_gpu_memory):
    """Sizes and allocates the request table and the KV cache; raises when nothing is left."""
    self.max_total_num_tokens = self.profile_max_num_token(total_gpu_memory)

    max_num_reqs = self.server_args.max_running_requests
    if max_num_reqs is None:
        by_tokens = int(self.max_total_num_tokens / self.server_args.context_length * 512)
        max_num_reqs = min(max(by_tokens, 2048), 4096)

    max_total_tokens = self.server_args.max_total_tokens
    if max_total_tokens is not None:
        if max_total_tokens > self.max_total_num_tokens:
            log(f"max_total_tokens={max_total_tokens} is larger than the profiled value "
                f"{self.max_total_num_tokens}. Use the profiled value instead.")
        self.max_total_num_tokens = min(self.max_total_num_tokens, max_total_tokens)

    if self.max_total_num_tokens <= 0:
        raise RuntimeError(
            f"Not enough memory. Please try to increase --mem-fraction-static. "
            f"Current value: {self.server_args.mem_fraction_static=}"
        )

    self.max_running_requests = max_num_reqs
    self.req_to_token_pool = ReqToTokenPool(
        self.device, max_num_reqs, self.server_args.context_length)
    self.token_to_kv_pool = MLATokenToKVPool(
        self.device, self.max_total_num_tokens, self.page_size, self.get_cell_size_per_token(),
        self.model_config.num_hidden_layers)
    kv_size = self.token_to_kv_pool.block.nbytes / (1 << 30)
    log(f"KV Cache is allocated. #tokens: {self.max_total_num_tokens}, KV size: {kv_size:.2f} GB")
    log(f"Memory pool end. avail mem={get_available_gpu_memory(self.device):.2f} GB")


class KVCacheSizing:
    """Gives ModelRunner the functions of this file as methods."""

    get_cell_size_per_token = get_cell_size_per_token
    profile_max_num_token = profile_max_num_token
    init_memory_pool = init_memory_pool
