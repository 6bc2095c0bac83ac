def run():
    i = s = 0
    while i < 5000000:
        s += i
        i += 1
    return s


print(run())
