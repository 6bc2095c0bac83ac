local xs, s = {}, 0
for i = 0, 199999 do xs[#xs + 1] = i end
for _, x in ipairs(xs) do s = s + x end
print(s)
