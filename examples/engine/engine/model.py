"""The model: a mixture of experts in whole numbers, cut into eight shards over the ranks.

Everything is an integer, so a sum over ranks is the same in any order and greedy tokens are the
same for both all-reduces and for every --tp-size. All weight bytes lie on the board of the rank.

Per layer, one shard holds HEADS heads (16 weights for the query, 16 for the output) and, of each
expert, UNITS hidden units (16 weights in, 16 out, one bias). Every rank also holds the layer's norm,
latent and two routers. A token runs one head of each shard and one expert, so that plain Python
keeps up. One layer is one partial sum per rank, and one all-reduce.
"""

import random
from operator import add, mul

HIDDEN = 16
SHARDS = 8
HEADS = 8
EXPERTS = 1880
UNITS = 5
UNIT_BYTES = 2 * HIDDEN + 1
VOCABULARY = 656  # 256 bytes and 400 syllables

REPLICATED_BYTES = 4 * HIDDEN  # norm, latent, router of experts, router of heads
HEAD_BYTES = 2 * HIDDEN
SHARD_BYTES = HEADS * HEAD_BYTES + EXPERTS * UNITS * UNIT_BYTES
EMBEDDING_BYTES = VOCABULARY * HIDDEN
HEAD_ROWS = VOCABULARY // SHARDS  # rows of the output layer in one shard


class ModelConfig:
    """What the board sees: the sizes that the memory of a token follows from."""

    architecture = "PracticeMoEForCausalLM"
    dtype = "torch.bfloat16"

    def __init__(self, num_hidden_layers=61, kv_lora_rank=512, qk_rope_head_dim=64):
        if num_hidden_layers < 8:
            raise ValueError("num_hidden_layers must be at least 8")
        self.num_hidden_layers = num_hidden_layers
        self.kv_lora_rank = kv_lora_rank
        self.qk_rope_head_dim = qk_rope_head_dim


def seeded_bytes(key, length):
    """Returns `length` pseudo-random bytes that depend on `key` alone."""
    return random.Random(key).getrandbits(8 * length).to_bytes(length, "little")


def seeded_permutation(key):
    """Returns the 256 byte values in a pseudo-random order that depends on `key` alone."""
    return bytes(random.Random(key).sample(range(256), 256))


def dot(a, b):
    """The scalar product of two sequences of integers."""
    return sum(map(mul, a, b))


def normalise(x):
    """Scales a vector so that its largest entry is 127, as RMSNorm keeps it in range."""
    largest = max(map(abs, x)) or 1
    return [v * 127 // largest for v in x]


class Model:
    """The part of the model that one rank holds, on its board."""

    def __init__(self, config, device, group, seed, rank, size):
        self.config = config
        self.group = group
        self.shards = range(rank * SHARDS // size, (rank + 1) * SHARDS // size)
        self._shard_bytes = [seeded_bytes(f"{seed}/{shard}", SHARD_BYTES) for shard in self.shards]
        self.embedding = self._load(device, f"{seed}/embedding", EMBEDDING_BYTES)
        self.layers = [self._load_layer(device, f"{seed}/{layer}")
                       for layer in range(config.num_hidden_layers)]
        self.norm = self._load(device, f"{seed}/norm", HIDDEN)
        self.head = [self._load(device, f"{seed}/head/{shard}", HEAD_ROWS * HIDDEN)
                     for shard in self.shards]

    def _load(self, device, key, length):
        view = device.allocate_real(length).view
        view[:] = seeded_bytes(key, length)
        return view.cast("b")

    def _load_layer(self, device, key):
        """Fills one layer: bytes made once, under the layer's own permutation, for a fast start."""
        view = device.allocate_real(REPLICATED_BYTES + len(self.shards) * SHARD_BYTES).view
        view[:REPLICATED_BYTES] = seeded_bytes(key, REPLICATED_BYTES)
        permutation = seeded_permutation(key)
        for i, shard_bytes in enumerate(self._shard_bytes):
            start = REPLICATED_BYTES + i * SHARD_BYTES
            view[start:start + SHARD_BYTES] = shard_bytes.translate(permutation)
        return view.cast("b")

    def forward(self, tokens, slots, kv_pool):
        """Runs `tokens`, the last of the sequence whose positions lie in `slots`.

        Writes their latents into the KV cache and returns the state after the last token.
        """
        first = len(slots) - len(tokens)
        states = [self._embed(token, first + i) for i, token in enumerate(tokens)]
        for number, layer in enumerate(self.layers):
            norm, latent, router, head_router = (
                layer[i * HIDDEN:(i + 1) * HIDDEN].tolist() for i in range(4))
            inputs = [normalise(list(map(mul, x, norm))) for x in states]
            index = kv_pool.latent_of_layer(number)
            if kv_pool.first_layer_of_latent(index) == number:
                for slot, x in zip(slots[first:], inputs):
                    kv_pool.write(slot, index, dot(latent, x) >> 4)
            seen = kv_pool.read(slots, index)
            partial = []
            for i, x in enumerate(inputs):
                past = seen[:first + i + 1]
                expert, head = dot(router, x) % EXPERTS, dot(head_router, x) % HEADS
                partial += self._partial(layer, expert, head, x, min(past), max(past))
            total = self.group.all_reduce(partial)
            states = [list(map(add, x, total[i * HIDDEN:])) for i, x in enumerate(states)]
        return list(map(mul, normalise(states[-1]), self.norm))

    def _embed(self, token, position):
        row = self.embedding[token * HIDDEN:(token + 1) * HIDDEN]
        return [(v << 6) + (position * (2 * i + 1) * 512 % 8192) for i, v in enumerate(row)]

    def _partial(self, layer, expert, head, x, least, most):
        """This rank's share of one layer's output for the state `x`.

        Attention is hard: a head looks at the one position whose latent suits its query best.
        """
        y = [0] * HIDDEN
        for i in range(len(self.shards)):
            shard = REPLICATED_BYTES + i * SHARD_BYTES
            start = shard + head * HEAD_BYTES
            rows = layer[start:start + HEAD_BYTES].tolist()
            value = most if dot(rows[:HIDDEN], x) > 0 else least
            y = [a + (value * w >> 6) for a, w in zip(y, rows[HIDDEN:])]
            start = shard + HEADS * HEAD_BYTES + expert * UNITS * UNIT_BYTES
            rows = layer[start:start + UNITS * UNIT_BYTES].tolist()
            for j in range(0, len(rows), UNIT_BYTES):
                hidden = (dot(rows[j:j + HIDDEN], x) >> 6) + rows[j + 2 * HIDDEN]
                if hidden > 0:
                    y = [a + (hidden * w >> 6) for a, w in zip(y, rows[j + HIDDEN:j + 2 * HIDDEN])]
        return y

    def greedy_token(self, state):
        """The token with the highest logit over all ranks; of equals, the lowest token."""
        best = (-1 << 62, 0)
        for shard, head in zip(self.shards, self.head):
            for row in range(HEAD_ROWS):
                logit = dot(head[row * HIDDEN:(row + 1) * HIDDEN].tolist(), state)
                best = max(best, (logit, -(shard * HEAD_ROWS + row)))
        gathered = self.group.all_gather(list(best))
        logit, negative_token = max(zip(gathered[::2], gathered[1::2]))
        return -negative_token
