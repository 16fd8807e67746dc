local counts, rows, top = {}, {}, {}
for word in text:lower():gmatch("%S+") do counts[word] = (counts[word] or 0) + 1 end
for word, n in pairs(counts) do rows[#rows + 1] = {word, n} end
table.sort(rows, function(a, b)
  if a[2] ~= b[2] then return a[2] > b[2] end
  return a[1] < b[1]
end)
for i = 1, 10 do top[i] = rows[i] end
return top
