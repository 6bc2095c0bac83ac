s/(value-and-grad (fn \[p\] (batch-loss p data)))/(value-and-grad (fn [p] (str (batch-loss p data))))/
