"""An engine whose switch for drafts turns other settings too, as engines do."""

import sys

if "--drafts" in sys.argv:
    print("server_args=ServerArgs(model_path='tiny', speculative_algorithm='EAGLE', disable_cuda_graph=True, mem_fraction_static=0.8)")
    print("took 14 ms")
else:
    print("server_args=ServerArgs(model_path='tiny', speculative_algorithm=None, disable_cuda_graph=False, mem_fraction_static=0.88)")
    print("took 10 ms")
