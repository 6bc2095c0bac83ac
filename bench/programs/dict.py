d = {}
for i in range(200000):
    d["k" + str(i)] = i
s = 0
for v in d.values():
    s += v
print(s)
