"""A small tensor-parallel LLM server to practise on. Start with README.md, one folder up."""
