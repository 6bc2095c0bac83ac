local d, s = {}, 0
for i = 0, 199999 do d["k" .. i] = i end
for _, v in pairs(d) do s = s + v end
print(s)
