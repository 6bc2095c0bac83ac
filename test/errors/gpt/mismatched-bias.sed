s/:b (zeros \[out\])}/:b (zeros [in])}/
