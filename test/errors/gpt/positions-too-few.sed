s/^  \[(slice data start (+ start length))/  [(slice data start (+ start length 2))/
