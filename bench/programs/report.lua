local groups, rows = {}, {}
for _, order in ipairs(orders) do
  if order.status == "paid" then
    local group = groups[order.region]
    if not group then
      group = {region = order.region, count = 0, total = 0}
      groups[order.region] = group
      rows[#rows + 1] = group
    end
    group.count = group.count + 1
    group.total = group.total + order.amount
  end
end
table.sort(rows, function(a, b) return a.total > b.total end)
return {rows[1], rows[2], rows[3]}
