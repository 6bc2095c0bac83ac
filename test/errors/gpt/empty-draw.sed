s/0 (- (len data) T 1)/0 (- T (len data))/
