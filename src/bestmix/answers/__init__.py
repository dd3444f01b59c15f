"""From what was told to the answer: sums, estimates, the linear program, how sure it is, and what to deploy."""
