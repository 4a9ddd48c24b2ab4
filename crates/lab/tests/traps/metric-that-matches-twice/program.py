"""A benchmark that prints its result once for the warm-up and once for the run."""

print("Total token throughput (tok/s): 12.5")
print("Total token throughput (tok/s): 812.5")
