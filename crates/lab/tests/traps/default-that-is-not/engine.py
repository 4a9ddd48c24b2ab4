"""An engine whose default depends on the device; what the documentation says is only where it starts from."""

import sys

fraction = float(sys.argv[sys.argv.index("--fraction") + 1]) if "--fraction" in sys.argv else 0.828
print(f"server_args=ServerArgs(model_path='tiny', mem_fraction_static={fraction}, tp_size=1)")
print(f"max_total_num_tokens={round(fraction * 1000)}")
