s/\[kq kk kv ko\] (random-split key 4)/[kq kk kv ko] (random-split key 3)/
