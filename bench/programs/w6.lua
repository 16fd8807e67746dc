local rows = {}
for i, order in ipairs(orders) do rows[i] = order end
table.sort(rows, function(a, b)
  if a.region ~= b.region then return a.region < b.region end
  if a.amount ~= b.amount then return a.amount < b.amount end
  return a.id < b.id
end)
local n, out = #rows, {}
for _, i in ipairs({0, n / 8, n / 2, 3 * n / 4, n - 1}) do
  local order = rows[math.floor(i) + 1]
  out[#out + 1] = {order.region, order.amount, order.id}
end
return out
