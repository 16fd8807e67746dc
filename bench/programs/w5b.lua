local groups, rows = {}, {}
for _, order in ipairs(orders) do
  if order.amount > 100 then
    local group = groups[order.region]
    if not group then
      group = {order.region, 0, 0}
      groups[order.region] = group
      rows[#rows + 1] = group
    end
    group[2] = group[2] + order.amount
    group[3] = group[3] + 1
  end
end
table.sort(rows, function(a, b) return a[2] > b[2] end)
return rows
