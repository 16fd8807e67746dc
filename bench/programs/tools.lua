local names, total = {}, 0
for i = 0, n - 1 do
  local item = lookup(i)
  for _, tag in ipairs(item.tags) do
    if tag == "t0" then
      names[#names + 1] = item.name:upper()
      total = total + item.price
    end
  end
end
return {names = table.concat(names, ", "), total = total}
