"""The command line. One object that the parent prints and hands to every rank."""

from engine.device import SCALE
from engine.model import SHARDS, ModelConfig


class ServerArgs:
    """The options of one server, as typed."""

    def __init__(self, **options):
        self.__dict__.update(options)

    def __repr__(self):
        return f"ServerArgs({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


def parse_args(argv):
    """Returns server arguments and model configuration; ends the program with a message and code 2 when it is wrong."""
    import argparse  # only here: ranks unpickle ServerArgs, and must start fast
    import json

    p = argparse.ArgumentParser(
        prog="python3 -m engine", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--model-path", default="practice-moe-61l", help="name that clients see")
    p.add_argument("--host", default="127.0.0.1", help="address to listen on")
    p.add_argument("--port", type=int, default=30000, help="port to listen on")
    p.add_argument("--tp-size", "--tp", type=int, default=8, help="number of ranks: 1, 2, 4 or 8")
    p.add_argument("--mem-fraction-static", type=float, default=0.88,
                   help="share of the free memory for weights and KV cache")
    p.add_argument("--context-length", type=int, default=262144, help="longest request, in tokens")
    p.add_argument("--max-running-requests", type=int, help="rows of the request table")
    p.add_argument("--max-total-tokens", type=int, help="upper limit of the KV cache, in tokens")
    p.add_argument("--chunked-prefill-size", type=int, default=8192, help="tokens of one prefill step")
    p.add_argument("--max-prefill-tokens", type=int, default=16384, help="tokens of one prefill batch")
    p.add_argument("--disable-custom-all-reduce", action="store_true",
                   help="use the ring even where the one-shot all-reduce would run")
    p.add_argument("--random-seed", type=int, default=42, help="seed of the weights")
    p.add_argument("--json-model-override-args", default="{}",
                   help='other model sizes, e.g. \'{"num_hidden_layers": 8}\'')
    args = p.parse_args(argv)

    if args.tp_size not in (1, 2, 4, SHARDS):
        p.error(f"--tp-size must be 1, 2, 4 or {SHARDS}, not {args.tp_size}")
    if not 0 < args.mem_fraction_static < 1:
        p.error(f"--mem-fraction-static must lie between 0 and 1, not {args.mem_fraction_static}")
    if args.context_length < SCALE:
        p.error(f"--context-length must be at least {SCALE}, what one table entry stands for")
    for name in ("max_running_requests", "max_total_tokens", "chunked_prefill_size"):
        value = getattr(args, name)
        if value is not None and value < 1:
            p.error(f"--{name.replace('_', '-')} must be at least 1, not {value}")
    try:
        config = ModelConfig(**json.loads(args.json_model_override_args))
    except (TypeError, ValueError) as error:
        p.error(f"--json-model-override-args: {error}")
    return ServerArgs(**vars(args)), config
