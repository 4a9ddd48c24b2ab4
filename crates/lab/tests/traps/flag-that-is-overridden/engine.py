"""An engine that says what it was told and what it made of it, in a line each; it takes a flag and is overridden by a file of its own."""

told = {"port": 8000, "model": "tiny", "max_num_seqs": 4, "enforce_eager": True}
print(f"(APIServer pid=7) INFO 11-29 12:14:35 [api_utils.py:286] non-default args: {told}")
settings = "model='tiny', dtype=torch.bfloat16, max_seq_len=512, enforce_eager=True, compilation_config={'mode': <CompilationMode.NONE: 0>, 'backend': 'inductor'}"
print(f"(EngineCore pid=9) INFO 11-29 12:16:20 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: {settings}")
print("took 10 ms")
