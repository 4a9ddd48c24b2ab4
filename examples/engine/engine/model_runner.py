"""One rank's start: board and process groups, the measurement, weights, pools. Then one step each."""

from engine.device import Device, get_available_gpu_memory
from engine.log import log
from engine.model import Model
from engine.one_shot import TensorGroup, make_one_shot
from engine.ring import Ring
from engine.sizing import KVCacheSizing

CONTEXT_BYTES = 1537 << 20  # what a process takes of its board before it does anything


class ModelRunner(KVCacheSizing):
    """The model on one rank, ready to run once it is made."""

    def __init__(self, server_args, model_config, rank, links):
        self.server_args = server_args
        self.model_config = model_config
        self.mem_fraction_static = server_args.mem_fraction_static
        self.tp_rank = rank
        self.tp_size = server_args.tp_size
        self.page_size = 1
        self.device = Device(rank, links.boards[rank])

        min_per_gpu_memory = self.init_torch_distributed(links)
        self.load_model()
        log(f"Using KV cache dtype: {model_config.dtype}")
        self.init_memory_pool(min_per_gpu_memory)

    def init_torch_distributed(self, links):
        """Makes the process groups; returns what is free after them, on the rank with least."""
        log("Init torch distributed begin.")
        before_avail_memory = get_available_gpu_memory(self.device)
        self.context = self.device.allocate(CONTEXT_BYTES)
        self.context.fill_zero()
        self.cpu_group = Ring(
            self.device, self.tp_rank, self.tp_size, links.to_next, links.from_previous)
        one_shot = make_one_shot(self.server_args, self.device, self.cpu_group, links)
        self.tp_group = TensorGroup(self.cpu_group, one_shot)
        local_gpu_memory = get_available_gpu_memory(self.device)
        min_per_gpu_memory = get_available_gpu_memory(self.device, self.cpu_group)
        log(f"Init torch distributed ends. "
            f"mem usage={before_avail_memory - local_gpu_memory:.2f} GB")
        return min_per_gpu_memory

    def load_model(self):
        """Allocates this rank's weights and fills them from the seed."""
        before_avail_memory = get_available_gpu_memory(self.device)
        log(f"Load weight begin. avail mem={before_avail_memory:.2f} GB")
        self.model = Model(self.model_config, self.device, self.tp_group,
                           self.server_args.random_seed, self.tp_rank, self.tp_size)
        after_avail_memory = get_available_gpu_memory(self.device)
        log(f"Load weight end. type={self.model_config.architecture}, "
            f"dtype={self.model_config.dtype}, avail mem={after_avail_memory:.2f} GB, "
            f"mem usage={before_avail_memory - after_avail_memory:.2f} GB.")

    def forward(self, tokens, slots):
        """Runs `tokens`, the last of those in `slots`; returns the next token."""
        state = self.model.forward(tokens, slots, self.token_to_kv_pool)
        return self.model.greedy_token(state)
