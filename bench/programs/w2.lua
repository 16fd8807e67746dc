local total = 0
for x = 0, n - 1 do
  if x % 2 == 0 then total = total + x + 1 end
end
return total
