xs = []
for i in range(200000):
    xs.append(i)
s = 0
for x in xs:
    s += x
print(s)
