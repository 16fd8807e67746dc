local by_id, tiers, rows = {}, {}, {}
for _, customer in ipairs(customers) do by_id[customer.id] = customer end
for _, purchase in ipairs(purchases) do
  local tier = by_id[purchase.customer_id].tier
  local row = tiers[tier]
  if not row then
    row = {tier, 0, 0}
    tiers[tier] = row
    rows[#rows + 1] = row
  end
  row[2] = row[2] + purchase.amount
  row[3] = row[3] + 1
end
table.sort(rows, function(a, b) return a[1] < b[1] end)
return rows
