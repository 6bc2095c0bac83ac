s/(where (causal-mask T)/(where (causal-mask (+ T 1))/
