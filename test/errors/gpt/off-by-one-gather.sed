s/(map int (range (len vocab)))/(map int (range 1 (+ 1 (len vocab))))/
