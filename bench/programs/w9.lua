local sum = 0
for i = 0, n - 1 do sum = sum + succ(i) end
return sum
