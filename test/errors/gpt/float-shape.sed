s/:Wk (\* 0.02 (random-normal kk \[width width\]))/:Wk (random-normal kk 0.02)/
