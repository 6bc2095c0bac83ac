s/(where (causal-mask T) scores/(where (causal-mask T) scrores/
