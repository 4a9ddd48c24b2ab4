"""A program with a module of its own, which is edited to one of the same length within the same second."""

import answer

print(f"answer={answer.give()}")
