"""A program that stops at one fraction and starts at another, and says which it was given."""

import sys

fraction = float(sys.argv[sys.argv.index("--fraction") + 1])
print(f"server_args=ServerArgs(mem_fraction_static={fraction}, disable_custom_all_reduce={'--custom' not in sys.argv})")
rest = 21.697 - 93.999 * (1 - fraction)
if rest <= 0:
    raise RuntimeError(f"Not enough memory: rest={rest:.3f}")
print("server ready")
